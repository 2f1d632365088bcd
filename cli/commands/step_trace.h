#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/commands/timed_layer.h"
#include "models/training/hook.h"
#include "models/training/training_parts.h"

namespace trainer {

/// Records when each worker of each rank loads its samples and computes which layer, the phases of the step
/// between, and when the buckets of gradients travel between hosts: a file in the Trace Event Format, which
/// Perfetto and chrome://tracing open. The last hook of a run.
class StepTrace final : public Hook, private RowWatch {
 public:
  /// Records steps [first, end), counted from 0. `parts`: of the run.
  StepTrace(TrainingParts& parts, std::int64_t first, std::int64_t end);

  /// Makes the network's layers report to this object, which must outlive their work. Or something else calls
  /// add() for them.
  void watch_layers();
  /// Workers may call it at the same time. `layer`: of Network::layers().
  void add(std::size_t layer, const TimedLayer::Work& work);

  void before_step(std::int64_t step) override;
  void after_backward(const MicroBatch& batch) override;
  void before_consensus(const Progress&, Signals&) override {
    end_phase("reduce gradients");
    add_exchanges();
  }
  void before_update(std::int64_t, const Signals&) override { end_phase("consensus"); }
  void before_publish(std::int64_t) override { end_phase("update"); }
  void after_step(Progress&) override {
    end_phase("publish parameters");
    records_ = false;
  }

  /// The events of all ranks, on rank 0; elsewhere empty. Collective.
  std::string json() const;

 private:
  using Clock = TimedLayer::Clock;
  struct Event {
    std::string name;
    const char* category;
    Clock::time_point begin, end;
  };
  void on_load(int worker, const Rows& rows) override;
  void end_phase(const char* name);
  void add_exchanges();
  std::string json_of_rank() const;

  TrainingParts& parts_;
  Communicator& world_;
  Network& network_;
  std::int64_t first_, end_;
  bool records_ = false;
  Clock::time_point start_;                 ///< the same moment on all ranks
  Clock::time_point phase_;                 ///< the begin of the phase under way
  std::vector<std::vector<Event>> events_;  ///< of each worker
  std::vector<Event> exchanges_;
};

}  // namespace trainer
