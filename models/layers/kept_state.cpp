#include "models/layers/kept_state.h"

#include <algorithm>

namespace trainer {
namespace {

constexpr std::int64_t kFloatsOfDouble = sizeof(double) / sizeof(float);

}  // namespace

void KeptState::setup(Plan& plan) {
  batch_ = plan.batch();
  const Shape all{batch_, record_size()};
  state_ = plan.state({.name = "kept", .shape = all, .use = StateUse::training});
  begin_ = plan.saved(record_size() - 1);
  total_ = plan.scratch(0, Shape{kFloatsOfDouble, all.size()}.size());
  lines_ = plan.scratch(0, Shape{kFloatsOfDouble, plan.max_blocks(), all.size()}.size());
  plan.requires_streams();
}

void KeptState::begin(const Block& block, const Pass& pass) const {
  const float* const state = pass.state(state_).data();
  for (std::int64_t row = 0; row < block.count; ++row) {
    const std::int64_t sample = pass.samples()[static_cast<std::size_t>(block.first + row)];
    const float* const record = state + (pass.first_row() + block.first + row) * record_size();
    const bool resumes = pass.training() && sample > 0 && record[0] == mark_of(sample - 1);
    for (std::int64_t level = 0; level < levels_; ++level)
      for (std::int64_t kind = 0; kind < kinds_; ++kind) {
        float* const to = at_begin(level, kind, block, pass) + row * units_;
        if (resumes)
          std::copy_n(record + 1 + (level * kinds_ + kind) * units_, units_, to);
        else
          std::fill_n(to, units_, 0.0f);
      }
  }
}

std::span<double> KeptState::doubles(BufferId id, const Pass& pass) {
  return {reinterpret_cast<double*>(pass.buffer(id).data()),
          static_cast<std::size_t>(id.fixed / kFloatsOfDouble)};
}

void KeptState::store(std::span<const double> lines, Pass& pass) const {
  const std::span<double> total = doubles(total_, pass);
  // All workers have fetched what their rows began with when the sum ends.
  pass.batch_sum(lines, total);
  if (pass.worker() != 0) return;
  std::ranges::transform(total, pass.state(state_).begin(),
                         [](double number) { return static_cast<float>(number); });
}

}  // namespace trainer
