#pragma once

#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Some samples of another dataset, which must outlive it.
class Subset final : public Dataset {
 public:
  /// `indices` are in [0, all.size()).
  Subset(const Dataset& all, std::vector<std::int64_t> indices);
  /// So many samples, which use() decides before they are read.
  Subset(const Dataset& all, std::int64_t size);
  void use(std::vector<std::int64_t> indices) { indices_ = std::move(indices); }

  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override;
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override;
  std::int64_t length(std::int64_t index) const override { return all_.length(position(index)); }
  void read_positions(std::int64_t index, std::span<std::int32_t> positions) const override {
    all_.read_positions(position(index), positions);
  }
  float weight(std::int64_t index) const override { return all_.weight(position(index)); }

 private:
  /// Calls read(indices in the whole dataset, row of the first) for a few indices at a time.
  template <class Read>
  void for_each_chunk(std::span<const std::int64_t> indices, const Read& read) const;
  std::int64_t position(std::int64_t index) const { return indices_.at(index); }

  const Dataset& all_;
  std::vector<std::int64_t> indices_;
};

}  // namespace trainer
