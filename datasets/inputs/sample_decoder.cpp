#include "datasets/inputs/sample_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace trainer {
namespace {

[[noreturn]] void fail(const RawSample& sample, const std::string& what) {
  const std::string place =
      sample.unit == RawSample::Unit::line  ? fmt::format("{}:{}", sample.file, sample.place)
      : sample.unit == RawSample::Unit::row ? fmt::format("{}[{}]", sample.file, sample.place)
                                            : sample.file;
  throw Error(ExitCode::data, {Diagnostic{.what = what, .place = place}});
}

}  // namespace

SampleDecoder::SampleDecoder(const DataDescription& data, const Tokenizer* tokenizer)
    : info_(data.info), tokenizer_(tokenizer) {
  const Shape& sample = info_.sample;
  if (info_.vocabulary == 0 && sample.rank() == 3)
    scaler_ = std::make_unique<ImageScaler>(ImageExtents{sample[0], sample[1], sample[2]}, data.form.crop);
}

std::int32_t SampleDecoder::decode(const RawSample& sample, std::span<float> elements) {
  switch (sample.kind) {
    case RawSample::Kind::line:
      return decode_line(sample, elements);
    case RawSample::Kind::values:
      return decode_values(sample, elements);
    case RawSample::Kind::image:
      break;
  }
  if (!scaler_) throw std::logic_error("an image was given to a model that takes none");
  scaler_->read({reinterpret_cast<const std::uint8_t*>(sample.bytes.data()), sample.bytes.size()},
                sample.file, elements.data());
  return static_cast<std::int32_t>(info_.sample[0]);
}

std::int32_t SampleDecoder::decode_line(const RawSample& sample, std::span<float> elements) const {
  std::vector<Token> tokens;
  try {
    tokens = tokenizer_->encode(sample.bytes);
  } catch (const Error& error) {
    fail(sample, error.diagnostics().front().what);
  }
  if (tokens.empty()) fail(sample, "the line is empty");
  const std::size_t count = std::min(tokens.size(), elements.size());
  std::ranges::transform(std::span(tokens).last(count), elements.begin(),
                         [](Token token) { return static_cast<float>(token); });
  std::ranges::fill(elements.subspan(count), 0.0f);
  return static_cast<std::int32_t>(count);
}

std::int32_t SampleDecoder::decode_values(const RawSample& sample, std::span<float> elements) const {
  if (sample.bytes.size() > elements.size_bytes())
    throw std::logic_error("a sample has more elements than those of the model");
  std::memcpy(elements.data(), sample.bytes.data(), sample.bytes.size());
  const std::size_t count = sample.bytes.size() / sizeof(float);
  std::ranges::fill(elements.subspan(count), 0.0f);
  if (info_.vocabulary > 0)
    for (const float token : elements.first(count))
      if (!(token >= 0 && token < static_cast<float>(info_.vocabulary)) ||
          token != static_cast<float>(static_cast<std::int64_t>(token)))
        fail(sample, fmt::format("{:g} is no token; they are 0 to {}", token, info_.vocabulary - 1));
  const std::int64_t all = info_.sample.rank() > 0 ? info_.sample[0] : 1;
  return static_cast<std::int32_t>(sample.positions > 0 ? sample.positions : all);
}

}  // namespace trainer
