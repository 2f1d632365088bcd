#pragma once

#include <cstdint>
#include <string>

#include "engine/math/product_times.h"
#include "models/runs/training_run.h"

namespace trainer {

/// Times the products of steps after a warm-up of so many steps, with both engines by turns.
class EngineTimes final : public Observer {
 public:
  explicit EngineTimes(std::int64_t warm_up) : warm_up_(warm_up) {}

  void on_step(const StepReport& report) override;
  EngineTable table() const;
  /// table() for people.
  std::string text() const;

 private:
  std::int64_t warm_up_;
  std::int64_t native_steps_ = 0;  ///< by the native engine, since the warm-up
  ProductTimes times_;
};

}  // namespace trainer
