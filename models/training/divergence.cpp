#include "models/training/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace trainer {
namespace {

std::string short_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "infinity" : "-infinity";
  return fmt::format("{:.3g}", number);
}

/// The parameter with the largest number, and that number: "dense1.weight 4.1e+19".
std::string largest_parameter(std::span<const Parameter> parameters, std::span<const float> values) {
  std::string name;
  double largest = -1, shown = 0;
  for (const Parameter& parameter : parameters) {
    const auto numbers = values.subspan(static_cast<std::size_t>(parameter.offset),
                                        static_cast<std::size_t>(parameter.shape.size()));
    for (const float number : numbers) {
      const double size = std::isnan(number) ? HUGE_VAL : std::abs(static_cast<double>(number));
      if (size <= largest) continue;
      largest = size;
      shown = static_cast<double>(number);
      name = parameter.name;
    }
  }
  return name + " " + short_number(std::isnan(shown) ? shown : largest);
}

}  // namespace

void LossHistory::add(double loss) { losses_[static_cast<std::size_t>(count_++) % losses_.size()] = loss; }

std::string LossHistory::text() const {
  const auto kept = static_cast<std::int64_t>(losses_.size());
  std::string text;
  for (std::int64_t i = std::max<std::int64_t>(0, count_ - kept); i < count_; ++i)
    text += (text.empty() ? "" : " > ") + short_number(losses_[static_cast<std::size_t>(i % kept)]);
  return text;
}

Error divergence(Communicator& world, const DivergenceFacts& facts) {
  // A rank whose own rows gave such a loss comes before those who only met the gradient.
  std::vector<double> flags(static_cast<std::size_t>(world.size()));
  flags[static_cast<std::size_t>(world.rank())] = std::isfinite(facts.own_loss) ? 0 : 1;
  world.sum(std::span(flags));
  const auto first = std::ranges::find(flags, 1.0);
  const std::string what =
      first == flags.end() ? "a gradient is not finite" : "loss is " + short_number(facts.losses.last());

  Diagnostic message{.what = fmt::format("{} at epoch {}, step {}", what, facts.epoch, facts.step),
                     .help = "a smaller lr, or warmup"};
  if (world.size() > 1 && first != flags.end())
    message.what += fmt::format(" (rank {} saw it first)", first - flags.begin());
  message.notes.push_back(fmt::format("lr {:.3g}; loss {}; largest: {}", facts.rate, facts.losses.text(),
                                      largest_parameter(facts.parameters, facts.values)));
  if (!facts.checkpoint.empty()) message.notes.push_back("last checkpoint: " + facts.checkpoint.string());
  return Error(ExitCode::diverged, {message});
}

}  // namespace trainer
