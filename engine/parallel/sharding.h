#pragma once

#include <array>
#include <cstddef>

namespace trainer {

/// What data ranks that share no memory keep once, and not on each of them: optimizer state, gradients too,
/// or parameters too (ZeRO stages 1, 2 and 3, Rajbhandari et al. 2020, arXiv:1910.02054).
enum class Sharding { state, gradients, parameters };

inline constexpr std::array<const char*, 3> kShardings{"state", "gradients", "parameters"};

inline const char* name_of(Sharding sharding) { return kShardings[static_cast<std::size_t>(sharding)]; }

}  // namespace trainer
