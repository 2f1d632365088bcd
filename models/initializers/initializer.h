#pragma once

#include <span>

#include "engine/config/registry.h"
#include "engine/core/flat_values.h"
#include "engine/core/random.h"
#include "models/layers/parameter.h"

namespace trainer {

/// Initial weights: a pure function of the stream and the whole parameter, so that shards do not change it.
class Initializer {
 public:
  static constexpr const char* kFamily = "initializer";
  virtual ~Initializer() = default;
  /// Fills the whole parameter (parameter.whole_shape()), in memory order.
  virtual void fill(const Parameter& parameter, const RandomStream& stream, std::span<float> whole) const = 0;
};

/// The initial values of every parameter, at its offset in the flat buffer: weights by their `init`, of an
/// adapter A drawn and B 0, others by their constant.
void initialize(std::span<const Parameter> parameters, std::uint64_t seed, const FlatValues<float>& values);

}  // namespace trainer
