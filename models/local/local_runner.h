#pragma once

#include "models/local/local_worker.h"
#include "models/training/clipping.h"
#include "models/training/training_parts.h"

namespace trainer {

/// A thread's memory and objects to train one virtual worker at a time, without other threads or ranks.
class LocalRunner {
 public:
  /// `whole`: the parts of the run. Makes no collective call.
  LocalRunner(const Config& root, TrainingParts& whole);
  LocalRunner(const LocalRunner&) = delete;
  LocalRunner& operator=(const LocalRunner&) = delete;

  /// A virtual worker that has trained nothing.
  LocalWorker make_worker(int number) const;
  /// Takes the steps [first, last) of a virtual worker from the global parameters on, which stay. In a batch
  /// with fewer samples than virtual workers, those without samples take no step. Threads may call it at the
  /// same time for different runners; `thread` is passed to `hooks`.
  void train(LocalWorker& worker, std::int64_t first, std::int64_t last, int thread, Hook& hooks);
  /// Names of the optimizer's states.
  std::vector<std::string> state_names() const { return parts_.state_names(); }

 private:
  void begin_round(LocalWorker& worker);
  void take_step(LocalWorker& worker, std::int64_t step, int thread, Hook& hooks);
  void end_round(LocalWorker& worker, std::int64_t last);

  TrainingParts& whole_;
  std::unique_ptr<Communicator> alone_ = solo();
  Mesh mesh_{*alone_, {}};
  ThreadPool pool_{1};
  Session session_;
  TrainingParts parts_;
  Clipping clipping_;
};

}  // namespace trainer
