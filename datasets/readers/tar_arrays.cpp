#include "datasets/readers/tar_arrays.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "datasets/readers/npy_array.h"
#include "datasets/readers/values.h"

namespace trainer {
namespace {

/// Bytes in memory; their place is asked for in messages only.
class MemoryStream final : public ByteStream {
 public:
  MemoryStream(std::span<const std::uint8_t> bytes, std::function<std::string()> place)
      : bytes_(bytes), place_(std::move(place)) {}
  std::int64_t size() const override { return std::ssize(bytes_); }
  void read(std::span<std::uint8_t> to) override {
    if (to.size() > bytes_.size() - at_) fail("array is truncated", fmt::format("{} bytes", bytes_.size()));
    std::ranges::copy(bytes_.subspan(at_, to.size()), to.begin());
    at_ += to.size();
  }
  void finish() override {}  // NpyArray compares the sizes
  std::string fingerprint() const override { return ""; }
  std::string place() const override { return place_(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::function<std::string()> place_;
};

/// A number is an array of one.
Shape shape_of(const NpyArray& array) { return array.shape().rank() == 0 ? Shape{1} : array.shape(); }

/// The array of a member. `bytes` must outlive it.
NpyArray open_input(const TarShards& shards, std::int64_t index, std::vector<std::uint8_t>& bytes) {
  shards.read_input(index, bytes);
  return NpyArray(
      std::make_unique<MemoryStream>(bytes, [&shards, index] { return shards.input_place(index); }));
}

NpyArray open_target(const TarShards& shards, std::int64_t index, std::vector<std::uint8_t>& bytes) {
  shards.read_target(index, bytes);
  return NpyArray(
      std::make_unique<MemoryStream>(bytes, [&shards, index] { return shards.target_place(index); }));
}

void read_elements(NpyArray& array, const Shape& expected, std::span<float> elements, float divisor) {
  if (shape_of(array) != expected)
    array.fail("arrays differ in shape",
               fmt::format("{} here, {} in the first sample", shape_of(array).text(), expected.text()));
  array.read(elements, divisor);
}

Shape checked_shape(const NpyArray& array) {
  const Shape shape = shape_of(array);
  if (shape.rank() == Shape::kMaxRank)
    array.fail("array has too many axes",
               fmt::format("{} axes; a sample has up to {}", shape.rank(), Shape::kMaxRank - 1));
  return shape;
}

class TarRows final : public ValueRows {
 public:
  TarRows(Shape sample, Shape target, std::shared_ptr<const TarShards> shards)
      : sample_(sample), target_(target), shards_(std::move(shards)) {}

  void read_sample(std::int64_t index, std::span<float> elements) const override {
    thread_local std::vector<std::uint8_t> bytes;
    NpyArray array = open_input(*shards_, index, bytes);
    read_elements(array, sample_, elements, array.input_divisor());
  }
  void read_target(std::int64_t index, std::span<float> elements) const override {
    read_target_array(*shards_, index, target_, elements);
  }

 private:
  Shape sample_, target_;
  std::shared_ptr<const TarShards> shards_;
};

/// The same rows, read whole.
class TarValues final : public ValueFiles {
 public:
  TarValues(TarRows rows, std::int64_t samples) : rows_(std::move(rows)), samples_(samples) {}

  void read(std::span<float> samples, std::span<float> targets) override {
    const std::size_t sample = samples.size() / samples_, target = targets.size() / samples_;
    for (std::int64_t index = 0; index < samples_; ++index) {
      rows_.read_sample(index, samples.subspan(index * sample, sample));
      if (target > 0) rows_.read_target(index, targets.subspan(index * target, target));
    }
  }

 private:
  TarRows rows_;
  std::int64_t samples_;
};

}  // namespace

Shape target_shape(const TarShards& shards) {
  std::vector<std::uint8_t> bytes;
  return checked_shape(open_target(shards, 0, bytes));
}

void read_target_array(const TarShards& shards, std::int64_t index, const Shape& expected,
                       std::span<float> values) {
  thread_local std::vector<std::uint8_t> bytes;
  NpyArray array = open_target(shards, index, bytes);
  read_elements(array, expected, values, 1);
}

std::unique_ptr<Dataset> tar_arrays(DatasetInfo info, std::shared_ptr<const TarShards> shards,
                                    bool streamed) {
  std::vector<std::uint8_t> bytes;
  info.sample = checked_shape(open_input(*shards, 0, bytes));
  info.is_streamed = streamed;
  shards->check_sizes(info.sample.size(), shards->has_labels() ? 0 : info.target.size());
  ValueSplit split{.info = std::move(info), .labels = {}, .lengths = {}};
  if (shards->has_labels())
    for (std::int64_t index = 0; index < shards->size(); ++index)
      split.labels.push_back(shards->label(index));
  TarRows rows(split.info.sample, split.info.target, std::move(shards));
  const std::int64_t size = split.info.size;
  if (streamed)
    return std::make_unique<StreamedValues>(std::move(split), std::make_unique<TarRows>(std::move(rows)));
  return std::make_unique<StoredValues>(std::move(split), std::make_unique<TarValues>(std::move(rows), size));
}

}  // namespace trainer
