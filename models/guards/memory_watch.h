#pragma once

#include <fmt/format.h>

#include "engine/system/host.h"
#include "models/training/training_parts.h"

namespace trainer {

/// Puts this rank's optimizer shard under the memory guard, and verifies all of it before each checkpoint.
class MemoryWatch final : public Hook {
 public:
  explicit MemoryWatch(TrainingParts& parts) : parts_(parts) {}

  void on_start(std::int64_t) override {
    parts_.shard.guard(
        {.parameters = parts_.session.network().plan().parameters(),
         .states = parts_.state_names(),
         .place = fmt::format("rank {} on {}", parts_.session.mesh().world().rank(), host_name())});
  }
  void before_save(Progress& run) override { parts_.shard.verify(run.step); }

 private:
  TrainingParts& parts_;
};

}  // namespace trainer
