#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>

#include "engine/math/engine.h"

namespace trainer {

/// Times the products of gemm() by shape, in the steps of a run themselves; one engine computes all of them
/// until use() names the other one. Products are cut as with a table of engines. Make and destroy it, and
/// call use(), while no thread multiplies.
class ProductTimes {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  struct Times {
    std::int64_t native_calls = 0;
    Nanoseconds native = Nanoseconds::max(), openblas = Nanoseconds::max();  ///< the shortest
  };

  /// Error(usage) where OpenBLAS cannot compute the products of the run.
  ProductTimes();
  ~ProductTimes();
  ProductTimes(const ProductTimes&) = delete;
  ProductTimes& operator=(const ProductTimes&) = delete;

  void use(Engine engine) { engine_ = engine; }
  void clear() { times_.clear(); }
  const std::map<ProductShape, Times>& all() const { return times_; }

  // For gemm().
  static ProductTimes* current();
  Engine engine() const { return engine_; }
  /// Any threads may call at once.
  void add(const ProductShape& shape, Nanoseconds time);

 private:
  Engine engine_ = Engine::native;
  std::mutex one_at_a_time_;
  std::map<ProductShape, Times> times_;
};

}  // namespace trainer
