#pragma once

#include <string>
#include <vector>

#include "cli/reports/run_log.h"

namespace trainer {

struct ComparedRun {
  std::string name;
  RunLog log;
  std::string machine;  ///< "4 ranks x 2 threads on a and b, AMD EPYC"; empty if unknown
};

/// Runs as one HTML page that needs no network: results, curves of all runs over one another for each score,
/// settings in which they differ. Tables have a heading.
std::string comparison_html(const std::vector<ComparedRun>& runs,
                            const std::vector<std::vector<std::string>>& results,
                            const std::vector<std::vector<std::string>>& settings);

/// The machine of environment.json; empty if `json` is none.
std::string machine_text(const std::string& json);

}  // namespace trainer
