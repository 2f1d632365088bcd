#include "cli/commands/trained_model.h"

#include <optional>

#include "cli/launching/collective_errors.h"

namespace trainer {

TrainedModel open_model(const Job& job, MeshAndThreads& work) {
  std::optional<TrainedCheckpoint> found;
  std::optional<OpenRun> run;
  std::optional<ConfigTree> config;
  run_collectively(job.world, [&] {
    found = find_trained(job.arguments.files.front(), job.arguments.overrides);
    if (found->data)
      config.emplace(found->config, run_settings());
    else  // Earlier programs did not describe the data: it must be where it was.
      run.emplace(open_trained_with_data(*found, work.mesh, work.pool).run);
  });
  if (run) {
    // Mean and deviation are those of the training samples.
    if (!run->session->data().normalised.empty()) load_samples(*run->session);
    if (!run->session->data().notice.empty()) job.warn("note: " + run->session->data().notice + "\n");
    found->data = describe(run->session->data());
    config.emplace(std::move(run->config));
  } else {
    define_by_data(*config, found->data->info);
  }
  DataDescription data = std::move(*found->data);
  return {.checkpoint = std::move(*found), .config = std::move(*config), .data = std::move(data)};
}

}  // namespace trainer
