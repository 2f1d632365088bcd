#pragma once

#include "datasets/loading/batch_order.h"
#include "models/network/network_plan.h"

namespace trainer {

/// Error(usage) when one of `shares` nearly equal shares of a batch of this order has rows, but fewer than a
/// layer requires, such as batch_norm with one value per channel.
void check_batch_rows(const NetworkPlan& plan, const BatchOrder::Options& order, std::int64_t shares = 1);

}  // namespace trainer
