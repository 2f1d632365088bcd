#pragma once

#include <string>
#include <vector>

#include "models/planning/memory_plan.h"
#include "models/planning/placed_step.h"

namespace trainer {

// The parts of a plan as tables for people.

std::string layers_text(const std::vector<LayerCost>& layers);
/// `memory`: bytes of a host. Shows what to do if the plan needs more.
std::string memory_text(const MemoryPlan& plan, int ranks_per_host, std::int64_t memory);
std::string collectives_text(const std::vector<Collective>& collectives);
/// "10 Gbit/s, 20 us, 1 us a message"
std::string link_text(const LinkCost& cost);
/// "12.3 ms"
std::string milliseconds_text(double seconds);

}  // namespace trainer
