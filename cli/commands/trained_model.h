#pragma once

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/trained_run.h"

namespace trainer {

/// A model with the description of its data, for inference without a session.
struct TrainedModel {
  TrainedCheckpoint checkpoint;
  ConfigTree config;
  DataDescription data;
};

/// The model of the command's first argument. Collective.
TrainedModel open_model(const Job& job, MeshAndThreads& work);

}  // namespace trainer
