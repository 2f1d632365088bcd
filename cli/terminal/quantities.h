#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/terminal/arguments.h"

namespace trainer {

// Values of flags that are written with units or as lists. Error(usage) names the flag and an example.

/// "2x4" of --mesh.
MeshShape mesh_of_text(const std::string& text);
/// "02:30:00" of --walltime, in seconds.
std::int64_t seconds_of(const std::string& text);
/// "8090" or "0.0.0.0:8090" of --live.
LiveAddress live_address(const std::string& text);
/// "90s", "30m", "1.5h", "2d" of --time, in seconds.
std::int64_t duration_of(const std::string& text);
/// "10Gbps,20us", "10Gbps,20us,1us" or "10Gbps,20us,1us,500us" of --link.
LinkCost link_of(const std::string& text);
/// "16GiB" or "16GB" of --memory, in bytes.
std::int64_t memory_of(const std::string& text);
/// "100..200" of --steps, or "100" for one step.
StepRange step_range_of(const std::string& text);
/// "1,2,4,...,1024" of -n: ascending numbers; "..." continues by the factor of the two numbers before it, or
/// if that misses the number behind it, by their difference. `single`: only one number is allowed.
std::vector<int> rank_counts_of(const std::string& text, bool single);

/// The most ranks of a plan.
inline constexpr int kMaxPlannedRanks = 65'536;

}  // namespace trainer
