#include "models/guards/sample_guard.h"

namespace trainer {

void SampleGuard::after_backward(const MicroBatch&) {
  for (int worker = 0; worker < parts_.session.pool().size(); ++worker)
    ledger_.add(worker, parts_.batch.samples_of(worker));
}

void SampleGuard::after_step(Progress& run) {
  if (run.result.stopped || !run.ends_epoch()) return;
  ledger_.verify(parts_.order, run.step, [this](std::span<double> totals) {
    parts_.scalars.sum(totals);
    if (parts_.session.network().splits_rows()) parts_.session.mesh().model().sum(totals);
  });
  ledger_.begin(run.step);
}

}  // namespace trainer
