#include "models/training/batch_rows.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainer {

void check_batch_rows(const NetworkPlan& plan, const BatchOrder::Options& order, std::int64_t shares) {
  const std::int64_t last = order.samples % order.batch;
  const auto smallest = [&](std::int64_t rows) {
    return rows == 0 ? 0 : std::max<std::int64_t>(1, rows / shares);
  };
  const std::string part = shares > 1 ? "a share of " : "";
  const bool has_short_batch = last > 0 && !order.drop_last && !order.streams;
  for (const NetworkPlan::RowRequirement& required : plan.row_requirements()) {
    const auto fail = [&](const std::string& batch, const std::string& help) {
      required.config.fail("",
                           fmt::format("{} {}, which requires at least {} samples; {}", required.layer,
                                       required.reason, required.rows, batch),
                           help);
    };
    if (smallest(order.batch) < required.rows)
      fail(fmt::format("{}a batch has {}", part, smallest(order.batch)),
           shares > 1
               ? "a larger train.batch, or fewer virtual workers of train.local or ranks of train.async"
               : "a larger train.batch, or a smaller train.accumulate");
    if (has_short_batch && smallest(last) < required.rows)
      fail(fmt::format("{}the last batch of an epoch has {}", part, smallest(last)),
           "`data.drop_last: true`, or another train.batch");
  }
}

}  // namespace trainer
