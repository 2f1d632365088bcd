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

/// The form of a split of such samples. Targets are labels below `classes`, or numbers when that is 0.
struct NumberForm {
  std::int64_t size = 0;
  Shape sample, target;
  int classes = 0;
  std::int64_t positions = 0;  ///< of a sample that have a label each; 0: one for all of it
  std::vector<std::int32_t> labels;

  std::int32_t label(std::int64_t index) const;
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> out) const;
};

/// Samples of numbers, kept in memory as they are.
class Numbers final : public Dataset {
 public:
  Numbers(NumberForm form, std::unique_ptr<NumberFiles> files)
      : form_(std::move(form)), files_(std::move(files)) {}

  std::int64_t size() const override { return form_.size; }
  Shape sample() const override { return form_.sample; }
  int classes() const override { return form_.classes; }
  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  std::int32_t label(std::int64_t index) const override { return form_.label(index); }
  std::int64_t positions() const override { return form_.positions; }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    form_.read_labels(indices, labels);
  }
  Shape target() const override { return form_.target; }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override;
  /// The samples, then their targets.
  std::int64_t stored_bytes() const override;
  void fill(std::span<std::uint8_t> memory) override;
  void attach(std::span<std::uint8_t> memory) override;

 private:
  std::int64_t sample_floats() const { return form_.sample.with_front(form_.size).size(); }
  std::int64_t target_floats() const {
    return form_.classes > 0 ? 0 : form_.target.with_front(form_.size).size();
  }

  NumberForm form_;
  std::unique_ptr<NumberFiles> files_;
  std::span<const float> samples_, targets_;
};

/// Samples of numbers, read from their files whenever they are wanted.
class StreamedNumbers final : public Dataset {
 public:
  StreamedNumbers(NumberForm form, std::unique_ptr<NumberRows> rows)
      : form_(std::move(form)), rows_(std::move(rows)) {}

  std::int64_t size() const override { return form_.size; }
  Shape sample() const override { return form_.sample; }
  int classes() const override { return form_.classes; }
  bool is_streamed() const override { return true; }
  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  std::int32_t label(std::int64_t index) const override { return form_.label(index); }
  std::int64_t positions() const override { return form_.positions; }
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    form_.read_labels(indices, labels);
  }
  Shape target() const override { return form_.target; }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override;

 private:
  NumberForm form_;
  std::unique_ptr<NumberRows> rows_;
};

}  // namespace trainer
