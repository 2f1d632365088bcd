#pragma once

#include <string>

#include "cli/launching/cpu_affinity.h"
#include "models/runs/training_run.h"
#include "models/training/session.h"

namespace trainer {

/// The lines above the epochs: ranks, data, model, training and run directory.
struct Header {
  std::string name;  ///< of the run
  std::string run_directory;
  const CpuAffinity& affinity;
  const Session& session;
  const TrainingRun& training;
  bool verbose = false;

  std::string text() const;
};

/// "4 ranks (4 data x 1 model) on 1 host, 1 thread each, engine native (AVX-512)"
std::string ranks_text(const Session& session, const CpuAffinity& affinity);

/// "mnist: 60,000 train, 10,000 test, 1x28x28, 10 classes"
std::string data_text(const Data& data);

}  // namespace trainer
