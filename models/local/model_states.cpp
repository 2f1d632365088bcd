#include "models/local/model_states.h"

#include <algorithm>

namespace trainer {
namespace {

/// visit(offset among all states, offset among those of the model, values) for each state of the model.
template <class Visit>
void for_each_model_state(const NetworkPlan& plan, Visit visit) {
  std::int64_t next = 0;
  for (const State& state : plan.states()) {
    if (state.use != StateUse::model) continue;
    visit(state.offset, next, state.shape.size());
    next += state.shape.size();
  }
}

}  // namespace

std::int64_t model_state_values(const NetworkPlan& plan) {
  std::int64_t values = 0;
  for_each_model_state(plan, [&](std::int64_t, std::int64_t, std::int64_t count) { values += count; });
  return values;
}

void take_model_states(const NetworkPlan& plan, std::span<const float> states, std::span<float> values) {
  for_each_model_state(plan, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::copy_n(states.begin() + from, count, values.begin() + to);
  });
}

void set_model_states(const NetworkPlan& plan, std::span<const float> values, std::span<float> states) {
  for_each_model_state(plan, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    std::copy_n(values.begin() + from, count, states.begin() + to);
  });
}

}  // namespace trainer
