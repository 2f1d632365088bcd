#pragma once

#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Some samples of a data set that somebody else owns.
class Subset final : public Dataset {
 public:
  Subset(const Dataset& all, std::vector<std::int64_t> indices) : all_(all), indices_(std::move(indices)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  Shape sample() const override { return all_.sample(); }
  int classes() const override { return all_.classes(); }
  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  std::int32_t label(std::int64_t index) const override { return all_.label(position(index)); }
  bool is_streamed() const override { return all_.is_streamed(); }
  std::int64_t positions() const override { return all_.positions(); }
  bool has_lengths() const override { return all_.has_lengths(); }
  std::int64_t length(std::int64_t index) const override { return all_.length(position(index)); }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override;
  Shape target() const override { return all_.target(); }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override;

 private:
  /// read(their indices in the whole set, number of the first) for some of the indices at a time.
  template <class Read>
  void in_pieces(std::span<const std::int64_t> indices, const Read& read) const;
  std::int64_t position(std::int64_t index) const { return indices_.at(static_cast<std::size_t>(index)); }

  const Dataset& all_;
  std::vector<std::int64_t> indices_;
};

}  // namespace trainer
