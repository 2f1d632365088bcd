#pragma once

#include <memory>
#include <span>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Files of samples that are numbers, their headers read and checked.
class NumberFiles {
 public:
  virtual ~NumberFiles() = default;
  /// Reads everything, at most once: the samples, and their targets where these are numbers. Error(data) when
  /// a file is bad.
  virtual void read(std::span<float> samples, std::span<float> targets) = 0;
};

/// Such files that are too large for memory, their headers read and checked. May be called from several
/// threads; Error(data) when a file is bad.
class NumberRows {
 public:
  virtual ~NumberRows() = default;
  virtual void read_sample(std::int64_t index, std::span<float> numbers) const = 0;
  /// Where targets are numbers.
  virtual void read_target(std::int64_t index, std::span<float> numbers) const = 0;
};

/// What is known of a split of such samples before they are read. Targets are labels below `classes`, or
/// numbers when that is 0.
struct NumberForm {
  std::int64_t size = 0;
  Shape sample, target;
  int classes = 0;
  std::int64_t positions = 0;  ///< of a sample that have a label each; 0: one for all of it
  std::vector<std::int32_t> labels;
  std::vector<std::int32_t> lengths;  ///< of each sample; empty where none has padding
};

/// Samples of numbers, whose labels lie in memory.
class NumberDataset : public Dataset {
 public:
  std::int64_t size() const final { return form_.size; }
  Shape sample() const final { return form_.sample; }
  int classes() const final { return form_.classes; }
  std::int32_t label(std::int64_t index) const final;
  std::int64_t positions() const final { return form_.positions; }
  bool has_lengths() const final { return !form_.lengths.empty(); }
  std::int64_t length(std::int64_t index) const final {
    return has_lengths() ? form_.lengths.at(static_cast<std::size_t>(index)) : form_.sample[0];
  }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const final;
  Shape target() const final { return form_.target; }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const final;

 protected:
  explicit NumberDataset(NumberForm form) : form_(std::move(form)) {}
  virtual void read_numbers(std::span<const std::int64_t> indices, Tensor targets) const = 0;

  const NumberForm form_;
};

/// Samples of numbers, kept in memory as they are.
class Numbers final : public NumberDataset {
 public:
  Numbers(NumberForm form, std::unique_ptr<NumberFiles> files)
      : NumberDataset(std::move(form)), files_(std::move(files)) {}

  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  /// The samples, then their targets.
  std::int64_t stored_bytes() const override;
  void fill(std::span<std::uint8_t> memory) override;
  void attach(std::span<std::uint8_t> memory) override;

 private:
  void read_numbers(std::span<const std::int64_t> indices, Tensor targets) const override;
  std::int64_t sample_floats() const { return form_.sample.with_front(form_.size).size(); }
  std::int64_t target_floats() const {
    return form_.classes > 0 ? 0 : form_.target.with_front(form_.size).size();
  }

  std::unique_ptr<NumberFiles> files_;
  std::span<const float> samples_, targets_;
};

/// Samples of numbers, read from their files whenever they are wanted.
class StreamedNumbers final : public NumberDataset {
 public:
  StreamedNumbers(NumberForm form, std::unique_ptr<NumberRows> rows)
      : NumberDataset(std::move(form)), rows_(std::move(rows)) {}

  bool is_streamed() const override { return true; }
  void read(std::span<const std::int64_t> indices, Tensor x) const override;

 private:
  void read_numbers(std::span<const std::int64_t> indices, Tensor targets) const override;

  std::unique_ptr<NumberRows> rows_;
};

}  // namespace trainer
