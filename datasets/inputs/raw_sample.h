#pragma once

#include <cstdint>
#include <string>

namespace trainer {

/// A sample without a label, as its file holds it. SampleDecoder makes elements of it.
struct RawSample {
  enum class Kind {
    image,   ///< a PNG, JPEG or WebP file
    line,    ///< a line of text
    values,  ///< floats
  };
  /// What `place` counts.
  enum class Unit {
    file,  ///< nothing: the file is the sample
    line,  ///< lines of a text or a table, from 1
    row,   ///< the first axis of an array, from 0
  };

  Kind kind = Kind::image;
  Unit unit = Unit::file;
  std::string file;            ///< as the user named it; "-": standard input
  std::int64_t place = 0;      ///< in the file
  std::string id{};            ///< of the column that holds ids
  std::string bytes{};         ///< of the image or the line; of `values` their memory
  std::int64_t positions = 0;  ///< of a sequence of `values` before its padding; 0: all of them
  std::string problem{};       ///< why it cannot be read; else empty
};

/// A source of samples without labels.
class SampleSource {
 public:
  enum class Next {
    sample,
    end,
    later,  ///< the next sample has not come yet; only if next() was not to wait
  };
  virtual ~SampleSource() = default;
  /// Reads the next sample. A damaged one has a `problem`, and the next ones follow. Error(usage) if the
  /// source does not fit the model, so that no sample of it can be read.
  virtual Next next(RawSample& sample, bool waits) = 0;
};

}  // namespace trainer
