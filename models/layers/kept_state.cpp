#include "models/layers/kept_state.h"

#include <algorithm>

namespace trainer {

void KeptState::setup(Plan& plan) {
  batch_ = plan.batch();
  const Shape all{batch_, record_size()};
  state_ = plan.state({.name = "kept", .shape = all, .use = StateUse::training});
  begin_ = plan.saved_once(record_size() - 1);
  total_ = plan.scratch<double>(0, all.size());
  lines_ = plan.scratch<double>(0, Shape{plan.max_virtual_workers(), all.size()}.size());
  plan.requires_streams();
}

void KeptState::begin(const VirtualWorker& worker, const Pass& pass) const {
  if (pass.recomputes()) return;
  const float* const state = pass.state(state_).data();
  for (std::int64_t row = 0; row < worker.count; ++row) {
    const std::int64_t sample = pass.samples()[static_cast<std::size_t>(worker.first + row)];
    const float* const record = state + (pass.first_row() + worker.first + row) * record_size();
    const bool resumes = sample > 0 && record[0] == mark_of(sample - 1);
    for (std::int64_t level = 0; level < levels_; ++level)
      for (std::int64_t kind = 0; kind < kinds_; ++kind) {
        float* const to = at_begin(level, kind, worker, pass) + row * units_;
        if (resumes)
          std::copy_n(record + 1 + (level * kinds_ + kind) * units_, units_, to);
        else
          std::fill_n(to, units_, 0.0f);
      }
  }
}

void KeptState::store(std::span<const double> lines, Pass& pass) const {
  const std::span<double> total = pass.buffer(total_);
  // When the sum ends, all threads have loaded the initial state of their rows.
  pass.all_reduce(lines, total);
  if (pass.worker() != 0) return;
  std::ranges::transform(total, pass.state(state_).begin(),
                         [](double value) { return static_cast<float>(value); });
}

}  // namespace trainer
