#include "models/initializers/initializer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/network/shard.h"

namespace trainer {
namespace {

/// Uniform within +-sqrt(1 / inputs).
void fill_adapter(const Parameter& parameter, const RandomStream& stream, std::span<float> values) {
  const float limit = 1 / std::sqrt(static_cast<float>(parameter.fan_in));
  stream.fill_uniform(0, values);
  for (float& value : values) value = limit * (2 * value - 1);
}

}  // namespace

void initialize(std::span<const Parameter> parameters, std::uint64_t seed, const FlatValues<float>& values) {
  std::vector<float> whole;
  for (const Parameter& parameter : parameters) {
    const auto place = values.subspan(parameter.offset, parameter.shape.size());
    if (!parameter.is_weight || parameter.adapter == Parameter::Adapter::up) {
      std::ranges::fill(place, parameter.constant);
      continue;
    }
    const RandomStream stream(seed, parameter.name);
    // Ranks share `place`, so it gets final values only.
    whole.resize(static_cast<std::size_t>(parameter.whole_shape().size()));
    if (parameter.adapter == Parameter::Adapter::down) {
      fill_adapter(parameter, stream, whole);
    } else {
      if (!parameter.init) throw std::logic_error(parameter.name + " has no initializer");
      Registry<Initializer>::make(*parameter.init)->fill(parameter, stream, whole);
    }
    take_shard(parameter, whole, place);
  }
}

}  // namespace trainer
