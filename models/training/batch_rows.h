#pragma once

#include "datasets/loading/batch_order.h"
#include "models/network/network_plan.h"

namespace trainer {

/// Error(usage) when a batch of this order has fewer rows than a layer requires, such as batch_norm with one
/// value per channel.
void check_batch_rows(const NetworkPlan& plan, const BatchOrder::Options& order);

}  // namespace trainer
