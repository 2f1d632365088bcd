#pragma once

#include "engine/parallel/gradient_reducer.h"

namespace trainer {

/// Two reducers as one: of the parameters before `border` in the flat buffer, and of the others. Backward
/// finishes the latter first, forward reads the former first.
class JoinedReducer final : public GradientReducer {
 public:
  JoinedReducer(std::unique_ptr<GradientReducer> front, std::unique_ptr<GradientReducer> rest,
                std::int64_t border)
      : front_(std::move(front)), rest_(std::move(rest)), border_(border) {}

  void begin() override;
  std::int64_t position(int worker) const override;
  void ready(int worker, std::int64_t offset) override;
  void finish() override;
  void start_publish() override;
  void receive() override;
  void acquire(int worker, std::span<const Range> parameters) override;
  std::chrono::nanoseconds take_waiting_time() override;
  std::vector<Exchange> exchanges() const override;
  std::vector<Range> overwritten() const override;

 private:
  std::unique_ptr<GradientReducer> front_, rest_;
  std::int64_t border_;
};

}  // namespace trainer
