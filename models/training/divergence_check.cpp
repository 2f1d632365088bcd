#include "models/training/divergence_check.h"

#include "engine/math/elementwise.h"
#include "models/training/divergence.h"

namespace trainer {

std::string DivergenceCheck::array_not_finite() const {
  Network& network = parts_.session.network();
  const NetworkPlan& plan = network.plan();
  if (std::string name = parts_.shard.not_finite(plan.parameters(), parts_.state_names()); !name.empty())
    return name;
  for (const State& state : plan.states()) {
    const float* values = network.states().data() + state.offset;
    if (!is_finite_magnitude(largest_magnitude(state.shape.size(), values))) return state.name;
  }
  return "";
}

void DivergenceCheck::check_arrays(const Progress& run, Hook& hooks) const {
  const std::string mine = array_not_finite();
  std::int64_t found = mine.empty() ? 0 : 1;
  parts_.session.mesh().world().sum(std::span(&found, 1));
  if (found > 0) fail(run, hooks, mine);
}

void DivergenceCheck::fail(const Progress& run, Hook& hooks, const std::string& array) const {
  std::vector<std::string> notes;
  hooks.on_divergence(notes);
  std::vector<DivergenceFacts::Gradient> gradients;
  const auto add = [&](ParameterWindow& window, std::int64_t offset) {
    if (window.shards_gradients()) {
      for (const Range& mine : window.shard())
        gradients.push_back({window.sums(mine), offset + mine.first, true});
      return;
    }
    for (int index = 0; index < window.gradient_count(); ++index)
      gradients.push_back({window.gradients(index), offset, index == 0});
  };
  add(parts_.windows.rest(), parts_.windows.border());
  if (ParameterWindow* const front = parts_.windows.front()) add(*front, 0);
  ParameterWindows& windows = parts_.windows;
  const std::vector<Range> readable =
      windows.shards_parameters()
          ? windows.shard()
          : std::vector<Range>{{0, windows.border()}, {windows.border(), windows.all().last}};
  const DivergenceFacts facts{.own_loss = parts_.batch.own_loss(),
                              .gradients = gradients,
                              .overwritten = parts_.reducer->overwritten(),
                              .array = array,
                              .losses = run.losses,
                              .epoch = run.report.epoch,
                              .step = run.report.step,
                              .rate = run.report.rate,
                              .parameters = parts_.session.network().plan().parameters(),
                              .values = parts_.windows.values(),
                              .readable = readable,
                              .notes = notes};
  throw divergence(parts_.session.mesh().world(), facts);
}

}  // namespace trainer
