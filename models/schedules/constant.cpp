#include "models/schedules/schedule.h"

namespace trainer {
namespace {

/// The optimizer's learning rate, always.
class Constant final : public Schedule {
 public:
  explicit Constant(double rate) : rate_(rate) {}
  double at(std::int64_t) const override { return rate_; }

 private:
  double rate_;
};

const Registry<Schedule, const ScheduleContext&>::Add constant_schedule{
    {.name = "constant", .help = "the optimizer's learning rate from first to last"},
    [](const Config&, const ScheduleContext& context) { return std::make_unique<Constant>(context.rate); }};

}  // namespace
}  // namespace trainer
