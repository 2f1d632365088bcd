#include "models/training/gradient_norm.h"

#include <array>

#include "engine/math/square_sum.h"

namespace trainer {

double gradient_norm(const OptimizerShard& shard, AllReduce& scalars, Communicator& model, double largest) {
  model.maximum({&largest, 1});
  SquareSum squares(static_cast<std::uint32_t>(largest));
  shard.add_squares(squares);
  std::array<double, 2> parts{squares.high(), squares.low()};
  scalars.sum(parts);
  model.sum(parts);
  return squares.root(parts[0], parts[1]);
}

}  // namespace trainer
