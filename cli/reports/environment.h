#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/launching/cpu_affinity.h"
#include "models/training/session.h"

namespace trainer {

/// The machine and the libraries, as `trainer info` prints them and environment.json keeps them.
std::vector<std::pair<std::string, std::string>> machine_facts();

/// environment.json: under what a run was made. Collective.
std::string environment_json(const Session& session, const CpuAffinity& affinity,
                             const std::string& resolved_config);

}  // namespace trainer
