#include "models/planning/compressed_bytes.h"

#include <algorithm>

#include "engine/parallel/sign_code.h"

namespace trainer {

std::vector<CompressedMessage> compressed_messages(const Compression& compression, const NetworkPlan& plan,
                                                   std::int64_t arrays) {
  if (!compression.has_feedback()) return {};
  constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
  std::int64_t sign_bytes = 0, p_floats = 0, q_floats = 0;
  for (const Parameter& parameter : plan.parameters()) {
    const std::int64_t size = parameter.shape.size();
    const std::int64_t blocks = (size + SignBlock::kValues - 1) / SignBlock::kValues;
    sign_bytes += compression.sends_as_float32(size) ? kFloat * size
                                                     : blocks * static_cast<std::int64_t>(sizeof(SignBlock));
    const auto factor =
        std::ranges::find(plan.states(), parameter.name + NetworkPlan::kLowRankFactor, &State::name);
    const bool has_factor = factor != plan.states().end();
    p_floats += has_factor ? size / factor->shape[1] * factor->shape[0] : size;
    q_floats += has_factor ? factor->shape.size() : 0;
  }
  if (compression.method == Compression::Method::one_bit)
    return {{"all-gather of signs", arrays * sign_bytes}};
  return {{"all-reduce of factors P", kFloat * p_floats, true},
          {"all-reduce of factors Q", kFloat * q_floats, true}};
}

}  // namespace trainer
