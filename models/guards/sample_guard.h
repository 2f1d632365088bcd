#pragma once

#include "models/guards/sample_ledger.h"
#include "models/training/training_parts.h"

namespace trainer {

/// Proves that each epoch has used every sample once.
class SampleGuard final : public Hook {
 public:
  explicit SampleGuard(TrainingParts& parts) : parts_(parts), ledger_(parts.session.pool().size()) {}

  void on_start(std::int64_t done) override { ledger_.begin(done); }
  void after_backward(const MicroBatch& batch) override;
  void after_share(int worker, std::span<const std::int64_t> samples) override {
    ledger_.add(worker, samples);
  }
  /// Throws a logic_error if samples were left out or used twice.
  void after_step(Progress& run) override;

 private:
  TrainingParts& parts_;
  SampleLedger ledger_;
};

}  // namespace trainer
