#include "models/formats/npy.h"

namespace trainer {

std::string npy_header(const std::string& type, const Shape& shape) {
  // A tuple of Python: (2, 3), and (2,) of one.
  std::string extents;
  for (const std::int64_t extent : shape.extents())
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  if (shape.rank() == 1) extents += ',';
  std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + extents + "), }";
  // The header ends with a line break at a multiple of 64 bytes.
  constexpr std::size_t kBefore = 10, kMultiple = 64;
  header.append(kMultiple - 1 - (kBefore + header.size()) % kMultiple, ' ');
  header += '\n';
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() % 256);
  text += static_cast<char>(header.size() / 256);
  return text + header;
}

}  // namespace trainer
