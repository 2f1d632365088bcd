#include "datasets/loading/scaled_targets.h"

#include <algorithm>
#include <cmath>

namespace trainer {

void ScaledTargets::read_targets(std::span<const std::int64_t> indices, Tensor values) const {
  samples_->read_targets(indices, values);
  const std::span<float> all = values.span();
  const std::size_t channels = statistics_.mean.size();
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = (all[i] - statistics_.mean[i % channels]) / statistics_.deviation[i % channels];
}

ChannelStatistics target_statistics(const Dataset& samples) {
  const std::size_t channels = static_cast<std::size_t>(channel_count(samples.target()));
  constexpr std::int64_t kChunk = 64;
  std::vector<std::int64_t> indices(kChunk);
  std::vector<float> values(samples.target().with_front(kChunk).size());
  // Two passes: values such as years have a mean that is large beside their deviation.
  std::vector<double> means(channels), squares(channels);
  for (const bool is_second : {false, true}) {
    for (std::int64_t first = 0; first < samples.size(); first += kChunk) {
      const std::int64_t count = std::min(kChunk, samples.size() - first);
      for (std::int64_t i = 0; i < count; ++i) indices[i] = first + i;
      const Tensor rows(values.data(), samples.target().with_front(count));
      samples.read_targets(std::span(indices).first(count), rows);
      for (std::size_t i = 0; const float value : rows.span()) {
        const std::size_t channel = i++ % channels;
        const double distance = double{value} - means[channel];
        if (is_second)
          squares[channel] += distance * distance;
        else
          squares[channel] += value;
      }
    }
    const double elements = static_cast<double>(samples.size()) *
                            static_cast<double>(samples.target().size()) / static_cast<double>(channels);
    for (double& sum : squares) sum /= elements;
    if (!is_second) means.swap(squares);
  }
  ChannelStatistics statistics;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto deviation = static_cast<float>(std::sqrt(squares[channel]));
    statistics.mean.push_back(static_cast<float>(means[channel]));
    statistics.deviation.push_back(deviation > 0 ? deviation : 1);
  }
  return statistics;
}

void unscale(const ChannelStatistics& statistics, std::span<const float> values, std::span<float> to) {
  const std::size_t channels = statistics.mean.size();
  for (std::size_t i = 0; i < values.size(); ++i)
    to[i] = values[i] * statistics.deviation[i % channels] + statistics.mean[i % channels];
}

}  // namespace trainer
