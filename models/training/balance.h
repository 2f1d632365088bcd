#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/training/session.h"

namespace trainer {

/// Shares of `parts` in proportion to speeds above 0, none below `least`: the longest time, share / speed, is
/// as short as whole parts allow.
std::vector<std::int64_t> balanced_shares(std::span<const double> speeds, std::int64_t parts,
                                          std::int64_t least);

/// Shares of the data ranks by these speeds, as Session::divide() takes them; nearly equal speeds give equal
/// shares.
std::vector<std::int64_t> shares_by_speed(const Session& session, std::span<const double> speeds);

/// Samples a second that each data rank computes, forward and backward, while all of them do so; of a model
/// group its slowest member. Takes some seconds, and leaves a network that divide() has to replace.
/// After load_samples(). `oversubscribed`: more workers than cores. Collective.
std::vector<double> measured_speeds(const Config& root, Session& session, bool oversubscribed);

}  // namespace trainer
