#include "models/schedules/schedule.h"

namespace trainer {
namespace {

class Warmup final : public Schedule {
 public:
  Warmup(std::unique_ptr<Schedule> inner, std::int64_t steps) : inner_(std::move(inner)), steps_(steps) {}
  double at(std::int64_t step) const override {
    if (step >= steps_) return inner_->at(step);
    return inner_->at(step) * static_cast<double>(step + 1) / static_cast<double>(steps_);
  }

  std::optional<double> momentum(std::int64_t step) const override { return inner_->momentum(step); }
  void see(double loss) override { inner_->see(loss); }
  std::vector<double> state() const override { return inner_->state(); }
  void restore(std::span<const double> state) override { inner_->restore(state); }

 private:
  std::unique_ptr<Schedule> inner_;
  std::int64_t steps_;
};

}  // namespace

std::unique_ptr<Schedule> with_warmup(std::unique_ptr<Schedule> inner, std::int64_t steps) {
  return std::make_unique<Warmup>(std::move(inner), steps);
}

}  // namespace trainer
