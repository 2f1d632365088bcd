#include <algorithm>

#include "models/schedules/schedule.h"

namespace trainer {
namespace {

class Warmup final : public Schedule {
 public:
  Warmup(std::unique_ptr<Schedule> inner, std::int64_t steps) : inner_(std::move(inner)), steps_(steps) {}
  double at(std::int64_t step) const override {
    if (step >= steps_) return inner_->at(step - steps_);
    return inner_->at(0) * static_cast<double>(step + 1) / static_cast<double>(steps_);
  }
  std::optional<double> momentum(std::int64_t step) const override {
    return inner_->momentum(std::max<std::int64_t>(step - steps_, 0));
  }
  void see(double loss) override { inner_->see(loss); }
  std::vector<double> state() const override { return inner_->state(); }
  void restore(std::span<const double> state) override { inner_->restore(state); }

 private:
  std::unique_ptr<Schedule> inner_;
  std::int64_t steps_;
};

}  // namespace

std::unique_ptr<Schedule> make_schedule(const Config& schedule, const ScheduleContext& context) {
  ScheduleContext inner = context;
  inner.total_steps = std::max<std::int64_t>(context.total_steps - context.warmup, 0);
  auto made = Registry<Schedule, const ScheduleContext&>::make(schedule, inner);
  if (context.warmup == 0) return made;
  return std::make_unique<Warmup>(std::move(made), context.warmup);
}

}  // namespace trainer
