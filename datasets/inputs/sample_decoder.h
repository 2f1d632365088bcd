#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "datasets/inputs/raw_sample.h"
#include "datasets/loading/data_description.h"
#include "datasets/readers/scaled_image.h"

namespace trainer {

/// Makes the elements of a sample as training had them, before they are normalised. Reuses its memory; use
/// one per thread.
class SampleDecoder {
 public:
  /// `tokenizer`: of the model; null if it takes no text. Both outlive it.
  SampleDecoder(const DataDescription& data, const Tokenizer* tokenizer);

  /// Writes all elements of a sample without a problem; padding is 0. Of a text that is longer than a sample
  /// its end. Returns the positions before the padding. Error(data) if the sample is damaged.
  std::int32_t decode(const RawSample& sample, std::span<float> elements);

 private:
  std::int32_t decode_line(const RawSample& sample, std::span<float> elements) const;
  std::int32_t decode_values(const RawSample& sample, std::span<float> elements) const;

  const DatasetInfo& info_;
  const Tokenizer* tokenizer_;
  std::unique_ptr<ImageScaler> scaler_;  ///< null if the model takes no images
};

}  // namespace trainer
