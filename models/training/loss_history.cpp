#include "models/training/loss_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace trainer {

std::string value_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "infinity" : "-infinity";
  return fmt::format("{:.3g}", number);
}

void LossHistory::add(double loss) { losses_[static_cast<std::size_t>(count_++) % losses_.size()] = loss; }

std::string LossHistory::text() const {
  const auto kept = static_cast<std::int64_t>(losses_.size());
  std::string text;
  for (std::int64_t i = std::max<std::int64_t>(0, count_ - kept); i < count_; ++i)
    text += (text.empty() ? "" : " > ") + value_text(losses_[static_cast<std::size_t>(i % kept)]);
  return text;
}

}  // namespace trainer
