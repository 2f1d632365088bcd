#pragma once

#include <string>

#include "engine/core/random.h"
#include "models/network/network.h"
#include "models/prediction/own_statistics.h"

namespace trainer {

/// Gives a network random parameters in [-0.5, 0.5), for evaluation alone. Networks with the same parameters
/// get the same values.
class RandomValues {
 public:
  explicit RandomValues(Network& network)
      : values_(static_cast<std::size_t>(network.plan().parameter_end())) {
    RandomStream(1, "values").fill_uniform(0, values_);
    for (float& value : values_) value -= 0.5f;
    network.attach(values_, {{}, statistics_});
  }

 private:
  std::vector<float> values_;
  OwnStatistics statistics_;
};

}  // namespace trainer
