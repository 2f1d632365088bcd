#include "datasets/transforms/normalised.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/math/normalization.h"

namespace trainer {

std::int64_t channel_count(const Shape& sample) { return sample.rank() == 0 ? 1 : sample[sample.rank() - 1]; }

float ChannelStatistics::scale(std::size_t channel) const {
  // Below the steps of a float around the mean, a deviation is rounding.
  constexpr float kStep = 1e-7f;
  const float least = std::max(std::numeric_limits<float>::min(), kStep * std::fabs(mean[channel]));
  return deviation[channel] >= least ? 1 / deviation[channel] : 0;
}

ChannelStatistics channel_statistics(const Dataset& samples) {
  const std::size_t channels = channel_count(samples.sample());
  std::vector<double> sums(channels), squares(channels);
  std::vector<float> least(channels, std::numeric_limits<float>::infinity()),
      most(channels, -std::numeric_limits<float>::infinity());
  std::int64_t elements = 0;
  const std::int64_t sample_size = samples.sample().size();
  const auto own_size = [&](std::int64_t sample) {
    return samples.has_lengths() ? samples.length(sample) * (sample_size / samples.sample()[0]) : sample_size;
  };

  // A streamed dataset would take hours: evenly spread samples are enough.
  constexpr std::int64_t kEnough = 1024;
  const std::int64_t used = samples.info().is_streamed ? std::min(samples.size(), kEnough) : samples.size();
  constexpr std::int64_t kChunk = 64;
  std::vector<std::int64_t> indices(kChunk);
  std::vector<float> pixels(samples.sample().with_front(kChunk).size());
  for (std::int64_t first = 0; first < used; first += kChunk) {
    const std::int64_t count = std::min(kChunk, used - first);
    for (std::int64_t i = 0; i < count; ++i) indices[i] = (first + i) * samples.size() / used;
    const Tensor rows(pixels.data(), samples.sample().with_front(count));
    samples.read({indices.data(), static_cast<std::size_t>(count)}, rows);
    for (std::int64_t sample = 0; sample < count; ++sample) {
      const std::span<const float> own = rows.rows(sample, 1).span().first(own_size(indices[sample]));
      for (std::size_t i = 0; i < own.size(); i += channels)
        for (std::size_t c = 0; c < channels; ++c) {
          const double value = own[i + c];
          sums[c] += value;
          squares[c] += value * value;
          least[c] = std::min(least[c], own[i + c]);
          most[c] = std::max(most[c], own[i + c]);
        }
      elements += std::ssize(own);
    }
  }

  const double count = static_cast<double>(elements) / static_cast<double>(channels);
  ChannelStatistics statistics;
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = sums[c] / count;
    statistics.mean.push_back(static_cast<float>(mean));
    // Rounding would leave a constant channel a deviation.
    const double variance = least[c] == most[c] ? 0 : std::max(0.0, squares[c] / count - mean * mean);
    statistics.deviation.push_back(static_cast<float>(std::sqrt(variance)));
    if (!samples.info().scaled_channels.empty() && !samples.info().scaled_channels[c]) {
      statistics.mean.back() = 0;
      statistics.deviation.back() = 1;
    }
  }
  return statistics;
}

void Normalised::use(const ChannelStatistics& statistics) {
  // One long loop over an image's row is faster than many short ones over its channels.
  const Shape sample = raw_->sample();
  if (sample.rank() > 1) rows_ = sample[0];
  scale_.clear();
  shift_.clear();
  deviation_.clear();
  mean_.clear();
  const std::size_t row_size = sample.size() / rows_;
  for (std::size_t i = 0; i < row_size; ++i) {
    const std::size_t channel = i % statistics.mean.size();
    const float deviation = statistics.deviation[channel];
    scale_.push_back(statistics.scale(channel));
    shift_.push_back(-statistics.mean[channel] * scale_.back());
    deviation_.push_back(scale_.back() > 0 ? deviation : 0);
    mean_.push_back(statistics.mean[channel]);
  }
}

void Normalised::normalise(Tensor samples) const {
  channel_affine(samples.rows() * rows_, std::ssize(scale_), samples.data(), scale_.data(), shift_.data(),
                 samples.data());
}

void Normalised::denormalise(Tensor samples) const {
  channel_affine(samples.rows() * rows_, std::ssize(mean_), samples.data(), deviation_.data(), mean_.data(),
                 samples.data());
}

void Normalised::read(std::span<const std::int64_t> indices, Tensor x) const {
  // A few samples at a time: they are still in the cache when they are scaled.
  constexpr std::int64_t kFew = 16;
  for (std::int64_t first = 0; first < x.rows(); first += kFew) {
    const std::int64_t count = std::min(kFew, x.rows() - first);
    const Tensor some = x.rows(first, count);
    raw_->read(indices.subspan(first, count), some);
    normalise(some);
  }
}

}  // namespace trainer
