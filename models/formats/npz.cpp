#include "models/formats/npz.h"

#include <cstdint>
#include <limits>

#include "engine/core/error.h"
#include "engine/core/little_endian.h"
#include "engine/system/crc32.h"
#include "models/formats/npy.h"

namespace trainer {
namespace {

/// Little-endian integers, one after the other.
template <class... Integers>
std::string packed(Integers... integers) {
  std::string bytes;
  (bytes.append(LittleEndian(std::span(&integers, 1)).text()), ...);
  return bytes;
}

template <class... Parts>
void append(std::string& to, const Parts&... parts) {
  (to.append(parts), ...);
}

std::string npy_file(const NamedTensor& tensor) {
  return npy_header("<f4", tensor.shape).append(LittleEndian(tensor.values).text());
}

/// What the header of an entry and the central directory have in common: version, flags, method (stored),
/// time, date (1980-01-01), checksum, sizes, length of the name and of extra fields.
std::string entry_facts(const std::string& name, const std::string& content) {
  constexpr std::uint16_t kVersion = 20, kFlags = 0x0800, kStored = 0, kTime = 0, kDate = 0x21, kExtra = 0;
  const auto size = static_cast<std::uint32_t>(content.size());
  return packed(kVersion, kFlags, kStored, kTime, kDate, crc32_of(std::as_bytes(std::span(content))), size,
                size, static_cast<std::uint16_t>(name.size()), kExtra);
}

}  // namespace

std::string npz_file(std::span<const NamedTensor> tensors) {
  constexpr std::uint32_t kEntry = 0x04034b50, kDirectoryEntry = 0x02014b50, kEnd = 0x06054b50;
  constexpr std::uint16_t kMadeBy = 20, kNone = 0;
  constexpr std::uint32_t kAttributes = 0;
  std::string file, directory;
  for (const NamedTensor& tensor : tensors) {
    const std::string name = tensor.name + ".npy", content = npy_file(tensor);
    if (file.size() + content.size() > std::numeric_limits<std::uint32_t>::max() - (1U << 24))
      throw Error(ExitCode::usage, "the weights are too large for npz, which holds 4 GiB",
                  "checkpoints/best/model.safetensors has them, too");
    const std::string facts = entry_facts(name, content);
    append(directory, packed(kDirectoryEntry, kMadeBy), facts,
           packed(kNone, kNone, kNone, kAttributes, static_cast<std::uint32_t>(file.size())), name);
    append(file, packed(kEntry), facts, name, content);
  }
  const auto count = static_cast<std::uint16_t>(tensors.size());
  const auto place = static_cast<std::uint32_t>(file.size()),
             size = static_cast<std::uint32_t>(directory.size());
  return file + directory + packed(kEnd, kNone, kNone, count, count, size, place, kNone);
}

}  // namespace trainer
