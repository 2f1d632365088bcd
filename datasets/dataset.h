#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "datasets/dataset_info.h"
#include "datasets/input_form.h"
#include "engine/config/config.h"
#include "engine/core/tensor.h"

namespace trainer {

/// What a loss compares the outputs of some rows with: labels or values.
struct Targets {
  /// One for each row; a position of a sequence is a row. Empty if targets are values.
  std::span<const std::int32_t> labels;
  ConstTensor values;  ///< (rows, target); empty if targets are labels
  /// For rows that mix two samples: the second sample's label, and the share of the first sample in [0, 1].
  std::span<const std::int32_t> other_labels = {};
  std::span<const float> shares = {};
  /// Positions of each row's output before its padding, if targets are values; empty if no row is padded.
  std::span<const std::int32_t> lengths = {};
  /// Of each row in the loss; empty: 1 each.
  std::span<const float> weights = {};

  /// The targets of rows [first, first + count).
  Targets rows(std::int64_t first, std::int64_t count) const {
    const auto some = [&](const auto& all) { return all.empty() ? all : all.subspan(first, count); };
    Targets part{.labels = some(labels),
                 .values = values.empty() ? values : values.rows(first, count),
                 .other_labels = some(other_labels),
                 .shares = some(shares),
                 .weights = some(weights)};
    if (!values.empty()) part.lengths = some(lengths);
    return part;
  }
};

/// The samples of one split, all of one shape. info() is known at once; samples can be read when
/// load_samples() has put them into memory. Immutable from then on: several threads may read at the same
/// time.
class Dataset {
 public:
  virtual ~Dataset() = default;
  const DatasetInfo& info() const { return info_; }
  std::int64_t size() const { return info_.size; }
  const Shape& sample() const { return info_.sample; }
  const Shape& target() const { return info_.target; }
  int classes() const { return info_.classes; }
  std::int64_t positions() const { return info_.positions; }
  bool has_lengths() const { return info_.has_lengths; }

  /// Writes the samples `indices` as rows of x, (indices, sample). Pixels are in [0, 1].
  virtual void read(std::span<const std::int64_t> indices, Tensor x) const = 0;
  /// Writes the labels of the samples `indices`, info().labels_per_sample() for each, one sample after the
  /// other.
  virtual void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const;
  /// The label of a sample that has one.
  std::int32_t label(std::int64_t index) const;
  /// Writes the targets of the samples `indices` as rows of `values`, (indices, target). Only if classes is
  /// 0.
  virtual void read_targets(std::span<const std::int64_t> indices, Tensor values) const;
  /// Positions of a sample before its padding, at least one.
  virtual std::int64_t length(std::int64_t /*index*/) const { return info_.sample[0]; }
  /// Writes the position of each element of a sample in its document, info().positions of them: a document
  /// begins where it is 0. Only if info().is_packed.
  virtual void read_positions(std::int64_t index, std::span<std::int32_t> positions) const;
  /// Of a sample in the loss, at least 0; 1 unless info().has_weights.
  virtual float weight(std::int64_t /*index*/) const { return 1; }
  /// The encoded image file of a sample; empty if samples are no image files. Error(data) as read().
  virtual std::vector<std::uint8_t> image_file(std::int64_t /*index*/) const { return {}; }
  /// The samples from one share of a text to another, 0 <= begin < end <= 1; null if samples are not cut from
  /// a text. Windows overlap no others of the result if `apart`. The dataset must outlive the result.
  virtual std::unique_ptr<Dataset> subset(double begin, double end, bool apart) const;

  /// Bytes of memory that must be filled before samples can be read. The ranks of a host share them.
  virtual std::int64_t stored_bytes() const { return 0; }
  /// Reads the samples into this memory; one rank of a host does so. Error(data) if a file is bad.
  virtual void fill(std::span<std::uint8_t>) {}
  /// Takes the filled memory, which outlives the dataset; on every rank. What one rank of a host writes there
  /// later, all of them see.
  virtual void attach(std::span<std::uint8_t>) {}

 protected:
  explicit Dataset(DatasetInfo info) : info_(std::move(info)) {}

 private:
  const DatasetInfo info_;
};

/// The splits that a reader found.
struct DataSource {
  std::string name;                      ///< "mnist", for the header
  std::unique_ptr<Dataset> train, test;  ///< test may be null
  /// Names, sizes and stored checksums of the files. Ranks compare its hash; environment.json records it.
  std::vector<std::string> fingerprint;
  InputForm form{};
  std::string notice = {};  ///< what the user should know: samples that are left out; else empty
};

/// Files of labelled samples that a trained model is evaluated on.
struct GivenFiles {
  const std::vector<std::string>& files;
  const DatasetInfo& trained;  ///< of the training samples: labels get their classes, texts their tokenizer
  const InputForm& form;       ///< of the training samples
  /// Error(usage) unless there are as many files as in `what`: {"the table"}, {"images", "labels"}.
  void require(const std::vector<std::string>& what) const;
};

/// What a reader needs besides its settings.
struct ReaderContext {
  std::string path;  ///< data.path, or empty
  std::uint64_t seed = 1;
  std::string learned = {};  ///< what another rank's Reader::learn() gave; empty: open() learns it
  /// Of so many training samples those that are not held out, in rising order. Null: all. Labels: of all of
  /// them; empty if they have no classes.
  std::function<std::vector<std::int64_t>(std::int64_t, std::span<const std::int32_t>)> training = nullptr;
};

/// Opens the files of a format or of a public dataset. Registered as Registry<Reader, const ReaderContext&>.
class Reader {
 public:
  static constexpr const char* kFamily = "dataset";
  virtual ~Reader() = default;
  /// Reads headers, no samples. Error(data) if a file is missing or bad.
  virtual DataSource open() = 0;
  /// What open() learns of the training files, for ReaderContext::learned of all ranks; empty if it learns
  /// nothing. Error(data) as open().
  virtual std::string learn() { return ""; }
  /// Opens samples of other files than those of the settings; null if the format has no files of its own.
  /// Error(data) if a file is missing or bad, or has a class that training lacks.
  virtual std::unique_ptr<Dataset> open_given(const GivenFiles& given);
  /// True if no file of the dataset exists: then data.fallback applies. Adds the paths that were tried.
  virtual bool missing(std::vector<std::string>& looked_for) const = 0;
  /// Where a public dataset can be downloaded; empty for the user's own files.
  virtual std::string source() const { return ""; }
};

}  // namespace trainer
