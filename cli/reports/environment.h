#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/launching/cpu_affinity.h"
#include "models/training/session.h"

namespace trainer {

/// The machine and the libraries, for `trainer info` and environment.json.
std::vector<std::pair<std::string, std::string>> machine_facts();

/// The text of environment.json: the conditions of a run. Collective.
std::string environment_json(const Session& session, const CpuAffinity& affinity,
                             const std::string& resolved_config);

}  // namespace trainer
