#include "datasets/readers/idx_file.h"

#include <fmt/format.h>

#include "engine/core/shape.h"

namespace trainer {
namespace {

constexpr std::uint8_t kUnsignedBytes = 0x08;
// Bytes. Labels are read when the file is opened.
constexpr std::int64_t kLargestImages = std::int64_t{1} << 32, kLargestLabels = std::int64_t{1} << 28;

}  // namespace

IdxFile::IdxFile(const std::string& path, Content content) : bytes_(path) {
  const bool images = content == Content::images;
  std::array<std::uint8_t, 4> start;
  bytes_.read(start);
  if (start[0] != 0 || start[1] != 0)
    fail("not an IDX file",
         fmt::format("it begins with {:02x} {:02x}; an IDX file begins with 00 00", start[0], start[1]));
  if (start[2] != kUnsignedBytes)
    fail("IDX file of another type", fmt::format("type {:02x}; only unsigned bytes (08) are read", start[2]));
  const int axes = start[3];
  if (images ? axes != 3 && axes != 4 : axes != 1)
    fail(images ? "IDX file does not hold images" : "IDX file does not hold labels",
         fmt::format("it has {} {}; {}", axes, axes == 1 ? "axis" : "axes",
                     images ? "images have 3 (count, height, width) or 4 (count, channels, height, width)"
                            : "labels have 1 (count)"));

  const std::int64_t header = 4 + 4 * axes, largest = images ? kLargestImages : kLargestLabels;
  for (int axis = 0; axis < axes; ++axis) {
    std::array<std::uint8_t, 4> word;  // big-endian
    bytes_.read(word);
    const std::int64_t extent = std::int64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3];
    if (extent == 0) fail("IDX file holds nothing", fmt::format("extent {} in its header is 0", axis + 1));
    if (total_ > largest / extent)
      fail("IDX file is too large", fmt::format("its header claims more than {} bytes", largest));
    total_ *= extent;
    extents_.push_back(extent);
  }
  if (bytes_.size() != header + total_)
    fail(bytes_.size() < header + total_ ? "IDX file is truncated" : "IDX file is too long",
         fmt::format("its header claims {} = {} bytes; the file has {}", Shape(extents_).text(), total_,
                     bytes_.size() - header));
}

std::vector<std::uint8_t> IdxFile::elements() {
  std::vector<std::uint8_t> elements(total_);
  read(elements);
  return elements;
}

void IdxFile::read(std::span<std::uint8_t> elements) {
  bytes_.read(elements);
  bytes_.finish();
}

}  // namespace trainer
