#include "models/training/divergence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/system/host.h"

namespace trainer {
namespace {

/// The parameter with the largest value, and that value: "dense1.weight 4.1e+19".
std::string largest_parameter(const DivergenceFacts& facts) {
  std::string name;
  double largest = -1, shown = 0;
  const auto look = [&](const Parameter& parameter, const Range& range) {
    for (const float value : facts.values.subspan(range.first, range.count())) {
      const double size = std::isnan(value) ? HUGE_VAL : std::abs(static_cast<double>(value));
      if (size <= largest) continue;
      largest = size;
      shown = static_cast<double>(value);
      name = parameter.name;
    }
  };
  for (const Parameter& parameter : facts.parameters)
    for (const Range& range : facts.readable) {
      const Range part{std::max(range.first, parameter.offset),
                       std::min(range.last, parameter.offset + parameter.shape.size())};
      if (part.count() > 0) look(parameter, part);
    }
  return name + " " + value_text(std::isnan(shown) ? shown : largest);
}

/// The first infinite or NaN value of a rank. The loss of its own rows is more precise than gradients,
/// and those more than sums, which may hold another rank's values.
struct Witness {
  static constexpr int kNothing = 0, kSum = 1, kGradient = 2, kLoss = 3, kArray = 4;
  int level = kNothing;
  std::string parameter = {};
};

bool lies_in(std::int64_t place, std::span<const Range> ranges) {
  return std::ranges::any_of(ranges,
                             [&](const auto& range) { return range.first <= place && place < range.last; });
}

Witness witness(const DivergenceFacts& facts) {
  if (!facts.array.empty()) return {.level = Witness::kArray, .parameter = facts.array};
  if (!std::isfinite(facts.own_loss)) return {.level = Witness::kLoss};
  Witness found;
  for (const DivergenceFacts::Gradient& gradient : facts.gradients)
    for (const Parameter& parameter : facts.parameters)
      for (std::int64_t place = parameter.offset; place < parameter.offset + parameter.shape.size();
           ++place) {
        const std::int64_t index = place - gradient.offset;
        if (index < 0 || index >= std::ssize(gradient.values)) break;
        if (std::isfinite(gradient.values[static_cast<std::size_t>(index)])) continue;
        if (!gradient.may_be_sum || !lies_in(place, facts.overwritten))
          return {.level = Witness::kGradient, .parameter = parameter.name};
        if (found.level == Witness::kNothing) found = {.level = Witness::kSum, .parameter = parameter.name};
      }
  return found;
}

}  // namespace

Divergence divergence(Communicator& world, const DivergenceFacts& facts) {
  // Among ranks that know as much, the message names the lowest.
  const Witness mine = witness(facts);
  std::vector<double> levels(static_cast<std::size_t>(world.size()));
  levels[static_cast<std::size_t>(world.rank())] = mine.level;
  world.sum(std::span(levels));
  const auto first = std::ranges::max_element(levels);
  const int rank = static_cast<int>(first - levels.begin()), level = static_cast<int>(*first);
  std::array<char, 512> place{};
  std::string text =
      world.size() > 1 ? fmt::format("rank {} on {} saw it first", world.rank(), host_name()) : "";
  if (!mine.parameter.empty()) text += (text.empty() ? "in " : ", in ") + mine.parameter;
  text.copy(place.data(), place.size() - 1);
  world.broadcast(std::as_writable_bytes(std::span(place)), rank);

  const std::string what = level == Witness::kArray  ? "a parameter or a state of it is not finite"
                           : level == Witness::kLoss ? "loss is " + value_text(facts.losses.last())
                                                     : "a gradient is not finite";
  Diagnostic message{.what = fmt::format("{} at epoch {}, step {}", what, facts.epoch, facts.step),
                     .help = "a smaller lr, or warmup"};
  if (level > Witness::kNothing && place[0] != 0) message.what += fmt::format(" ({})", place.data());
  message.notes.push_back(fmt::format("lr {:.3g}; loss {}; largest: {}", facts.rate, facts.losses.text(),
                                      largest_parameter(facts)));
  message.notes.insert(message.notes.end(), facts.notes.begin(), facts.notes.end());
  return Divergence(std::move(message));
}

}  // namespace trainer
