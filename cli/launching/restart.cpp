#include "cli/launching/restart.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace trainer {

int ranks_to_resume_with(const Arguments& arguments, int ranks, const RankReports& reports) {
  // All ranks may report that they survive, although one of them made the job fail.
  const bool is_known = reports.survivors > 0 && reports.survivors < ranks;
  const int left = std::max(1, is_known ? reports.survivors : ranks - 1);
  if (!arguments.mesh || left < arguments.mesh->model) return left;
  return left / arguments.mesh->model * arguments.mesh->model;
}

void set_restart(const std::filesystem::path& run) { ::setenv(kRestartVariable, run.c_str(), 1); }

bool is_restart() {
  const char* run = std::getenv(kRestartVariable);
  return run && *run;
}

void apply_restart(Arguments& arguments, int ranks) {
  const char* run = std::getenv(kRestartVariable);
  if (!run || arguments.verb != Verb::train) return;
  if (arguments.mesh) {
    const int model = ranks % arguments.mesh->model == 0 ? arguments.mesh->model : ranks;
    arguments.mesh = MeshShape{.data = ranks / model, .model = model};
  }
  if (*run) resume_instead(arguments, run);
}

void resume_instead(Arguments& arguments, const std::string& run) {
  arguments.files = {run};
  arguments.weights_of_step_0 = std::exchange(arguments.initial_weights, "");
  arguments.out.clear();
  arguments.name.clear();
}

}  // namespace trainer
