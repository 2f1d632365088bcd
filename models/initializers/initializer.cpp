#include "models/initializers/initializer.h"

#include <algorithm>
#include <stdexcept>

#include "models/network/shard.h"

namespace trainer {

void initialize(std::span<const Parameter> parameters, std::uint64_t seed, const FlatValues<float>& values) {
  std::vector<float> whole;
  for (const Parameter& parameter : parameters) {
    const auto place = values.subspan(parameter.offset, parameter.shape.size());
    if (!parameter.is_weight) {
      std::ranges::fill(place, parameter.constant);
      continue;
    }
    if (!parameter.init) throw std::logic_error(parameter.name + " has no initializer");
    whole.resize(static_cast<std::size_t>(parameter.whole_shape().size()));
    Registry<Initializer>::make(*parameter.init)->fill(parameter, RandomStream(seed, parameter.name), whole);
    take_shard(parameter, whole, place);
  }
}

}  // namespace trainer
