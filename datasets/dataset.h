#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/config/config.h"
#include "engine/core/tensor.h"

namespace trainer {

/// What a model is asked to give for some rows: a class each, or numbers each.
struct Targets {
  std::span<const std::int32_t>
      labels;          ///< one a row (of sequences: a position); empty when they are numbers
  ConstTensor values;  ///< (rows, ...); empty when the targets are labels
  /// Where rows are mixtures of two samples: the label of the other one, and the share of the first.
  std::span<const std::int32_t> other_labels = {};
  std::span<const float> shares = {};
  /// How many positions of each row's output are its own, where targets are numbers and the rest is padding;
  /// empty where all are.
  std::span<const std::int32_t> lengths = {};

  /// Those of some of the rows.
  Targets rows(std::int64_t first, std::int64_t count) const {
    const auto some = [&](const auto& all) {
      return all.empty() ? all
                         : all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    };
    if (!values.empty()) return {.labels = {}, .values = values.rows(first, count), .lengths = some(lengths)};
    return {.labels = some(labels), .values = {}, .other_labels = some(other_labels), .shares = some(shares)};
  }
};

/// Samples of one split, all alike in shape: sizes and shapes are known at once, samples can be read when
/// load_samples() has put them into memory. Immutable from then on; read() may be called from several
/// threads.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  /// One sample as it lies in memory: maps are (H, W, C).
  virtual Shape sample() const = 0;
  /// Number of classes; 0 when targets are numbers.
  virtual int classes() const = 0;
  /// What they are called, where they have names.
  virtual std::vector<std::string> class_names() const { return {}; }
  /// Writes the samples `indices` as rows of x (pixels as x / 255).
  virtual void read(std::span<const std::int64_t> indices, Tensor x) const = 0;
  virtual std::int32_t label(std::int64_t index) const = 0;
  /// Shape of one sample's numbers, where targets are numbers.
  virtual Shape target() const { return {}; }
  /// Writes these numbers of the samples `indices` as rows of `values`; only where classes() is 0.
  virtual void read_targets(std::span<const std::int64_t> indices, Tensor values) const;

  /// True when samples are read from files each time, which takes long.
  virtual bool is_streamed() const { return false; }
  /// Positions of a sample that have a label each; 0 where the whole sample has one.
  virtual std::int64_t positions() const { return 0; }
  /// Whether samples are sequences of several lengths, the shorter ones with padding at their end.
  virtual bool has_lengths() const { return false; }
  /// Positions of a sample before its padding, at least one.
  virtual std::int64_t length(std::int64_t /*index*/) const { return sample()[0]; }
  std::int64_t labels_per_sample() const { return positions() > 0 ? positions() : 1; }
  /// The labels of the samples `indices`, one sample after the other.
  virtual void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const;
  /// Different tokens, where samples are sequences of them; 0 elsewhere.
  virtual int vocabulary() const { return 0; }
  /// The bytes that each of them stands for; empty where they are not of a text.
  virtual std::vector<std::string> token_texts() const { return {}; }
  /// Where samples are cut from one long text, a part of them is a stretch of the text, from one share of its
  /// length to another: windows chosen at random are known from their neighbours. `apart`: they do not
  /// overlap. Null where each sample stands for itself. The set itself must outlive the part.
  virtual std::unique_ptr<Dataset> stretch(double begin, double end, bool apart) const;

  /// Bytes of memory it wants to have filled, before samples can be read. The ranks of a host share them.
  virtual std::int64_t stored_bytes() const { return 0; }
  /// Reads the samples into such memory; one rank of a host does so. Error(data) when a file is bad.
  virtual void fill(std::span<std::uint8_t>) {}
  /// Tells where the filled memory is, which outlives the set; on every rank. All ranks of the host see what
  /// one of them writes there later.
  virtual void attach(std::span<std::uint8_t>) {}
};

/// A data set as its reader found it.
struct DataSource {
  std::string name;                      ///< "mnist", for the header
  std::unique_ptr<Dataset> train, test;  ///< test may be null
  /// Names, sizes and stored checksums of what was read; ranks agree on its hash, environment.json records
  /// it.
  std::vector<std::string> fingerprint;
};

/// What a reader needs besides its settings.
struct ReaderContext {
  std::string path;  ///< data.path, or empty
  std::uint64_t seed = 1;
};

/// A format or a known set. Registered as Registry<Reader, const ReaderContext&>.
class Reader {
 public:
  static constexpr const char* kFamily = "dataset";
  virtual ~Reader() = default;
  /// Reads headers, no sample. Throws Error(data): file missing or bad. `missing()` true first decides about
  /// data.fallback.
  virtual DataSource open() = 0;
  /// True when no file of the set was found at all; fills what was looked for, for the message.
  virtual bool missing(std::vector<std::string>& looked_for) const = 0;
  /// Where a public set can be had, for the message; empty for files of the user's own.
  virtual std::string source() const { return ""; }
};

}  // namespace trainer
