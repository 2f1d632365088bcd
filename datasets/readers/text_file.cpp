#include "datasets/readers/text_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainer {

void check_unpacked_size(const ByteReader& file) {
  const std::int64_t limit = file.unpacked_limit();
  if (file.is_packed() && file.size() > limit)
    file.fail("gzip file unpacks to more than the limit for texts",
              fmt::format(
                  "{} bytes from {}; the limit is {}: {} times the file, at least 64 MiB. A file that gunzip "
                  "has unpacked has no limit",
                  file.size(), file.stored_size(), limit, ByteReader::kUnpackedPerByte));
}

std::string content_of(ByteReader& file) {
  check_unpacked_size(file);
  std::string text(file.size(), '\0');
  file.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  file.finish();
  return text;
}

}  // namespace trainer
