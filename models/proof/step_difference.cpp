#include "models/proof/step_difference.h"

#include <fmt/format.h>

#include <functional>

namespace trainer {
namespace {

using Kind = StepDifference::Kind;

std::string name_of(Kind kind, std::size_t place, const ChainItems& items, const NetworkPlan& plan) {
  if (kind == Kind::batch) {
    const std::string row = fmt::format("row {}", place + 1);
    return place < items.samples.size() ? fmt::format("sample {}, {}", items.samples[place], row) : row;
  }
  const std::size_t parameters = plan.parameters().size();
  return place < parameters ? plan.parameters()[place].name : plan.states()[place - parameters].name;
}

/// find(kind, fingerprint of one, of the other): the places of what differs.
using Find = std::function<std::vector<std::size_t>(Kind, const FingerprintSums&, const FingerprintSums&)>;

std::optional<StepDifference> first_of(const ChainRecord& one, const ChainRecord& other,
                                       const ChainItems& items, const NetworkPlan& plan, const Find& find) {
  const auto difference = [&](Kind kind, const FingerprintSums& mine, const FingerprintSums& theirs) {
    StepDifference found{.step = other.step, .kind = kind};
    for (const std::size_t place : find(kind, mine, theirs))
      found.items.push_back(name_of(kind, place, items, plan));
    return found;
  };
  if (one.batch != other.batch) return difference(Kind::batch, one.batch, other.batch);
  if (one.gradients != other.gradients) return difference(Kind::gradients, one.gradients, other.gradients);
  if (one.weights != other.weights) return difference(Kind::weights, one.weights, other.weights);
  return std::nullopt;
}

const std::vector<std::uint64_t>& of_kind(Kind kind, const ChainItems& items) {
  return kind == Kind::batch ? items.rows : kind == Kind::gradients ? items.gradients : items.weights;
}

}  // namespace

std::string StepDifference::text() const {
  constexpr std::size_t kMostNames = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(items.size(), kMostNames); ++i)
    names += (i > 0 ? (kind == Kind::batch ? "; " : ", ") : "") + items[i];
  if (items.size() > kMostNames) names += fmt::format(" and {} more", items.size() - kMostNames);
  if (step == 0) return "the initial weights" + (names.empty() ? "" : " of " + names);
  const std::string begin = fmt::format("step {}: ", step);
  if (kind == Kind::batch) return begin + "the batch (" + (names.empty() ? "several samples" : names) + ")";
  if (kind == Kind::gradients)
    return begin + (items.size() == 1 ? "the gradient of " : "the gradients of ") +
           (names.empty() ? "several tensors" : names);
  if (items.size() == 1) return begin + "the weights of " + names;
  return begin + "the update of " + (names.empty() ? "several tensors" : names) +
         ", by equal gradients (a learning rate, or the optimizer's settings or states)";
}

std::optional<StepDifference> step_difference(const ChainRecord& recorded, const ChainRecord& replayed,
                                              const ChainItems& items, const NetworkPlan& plan) {
  return first_of(recorded, replayed, items, plan,
                  [&](Kind kind, const FingerprintSums& one, const FingerprintSums& other) {
                    const auto place = differing_item(one, other, of_kind(kind, items).size());
                    return place ? std::vector{*place} : std::vector<std::size_t>();
                  });
}

std::optional<StepDifference> step_difference(const ChainRecord& one, const ChainItems& items,
                                              const ChainRecord& other, const ChainItems& other_items,
                                              const NetworkPlan& plan) {
  return first_of(one, other, items, plan, [&](Kind kind, const FingerprintSums&, const FingerprintSums&) {
    const std::vector<std::uint64_t>&mine = of_kind(kind, items), &theirs = of_kind(kind, other_items);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i)
      if (mine[i] != theirs[i]) places.push_back(i);
    return places;
  });
}

}  // namespace trainer
