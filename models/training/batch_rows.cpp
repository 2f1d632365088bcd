#include "models/training/batch_rows.h"

#include <fmt/format.h>

namespace trainer {

void check_batch_rows(const NetworkPlan& plan, const BatchOrder::Options& order) {
  const std::int64_t last = order.samples % order.batch;
  const bool has_short_batch = last > 0 && !order.drop_last && !order.streams;
  for (const NetworkPlan::RowRequirement& required : plan.row_requirements()) {
    const auto fail = [&](const std::string& batch, const std::string& help) {
      required.config.fail("",
                           fmt::format("{} {}, which requires at least {} samples; {}", required.layer,
                                       required.reason, required.rows, batch),
                           help);
    };
    if (order.batch < required.rows)
      fail(fmt::format("a batch has {}", order.batch), "a larger train.batch, or a smaller train.accumulate");
    if (has_short_batch && last < required.rows)
      fail(fmt::format("the last batch of an epoch has {}", last),
           "`data.drop_last: true`, or another train.batch");
  }
}

}  // namespace trainer
