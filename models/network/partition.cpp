#include "models/network/partition.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "models/network/sharded_dense.h"

namespace trainer {
namespace {

using Entry = Sequence::Entry;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The dense layer that sees `first`'s units with only elementwise layers between, or kNone.
std::size_t dense_after(const std::vector<Entry>& entries, const std::vector<bool>& cut, std::size_t first) {
  std::size_t next = first + 1;
  while (next < entries.size() && entries[next].layer->is_elementwise()) ++next;
  return next < entries.size() && cut[next] ? next : kNone;
}

const DenseSettings& dense(const Entry& entry) { return dynamic_cast<const Dense&>(*entry.layer).settings(); }

/// Which entries are dense layers that may be cut: those whose units are known and whose weight no other
/// layer shares.
std::vector<bool> dense_to_cut(const std::vector<Entry>& entries) {
  std::set<std::string> tied_to;
  for (const Entry& entry : entries)
    if (entry.type == "dense") tied_to.insert(dense(entry).tied_to);
  std::vector<bool> result;
  result.reserve(entries.size());
  for (const Entry& entry : entries)
    result.push_back(entry.type == "dense" && dense(entry).units > 0 && dense(entry).tied_to.empty() &&
                     (entry.name.empty() || !tied_to.contains(entry.name)));
  return result;
}

/// Floats a sample moves, counting an all-gather of n as n and a sum of n as 2 n: by outputs twice, u1 and u2
/// are joined and u1 gradients summed; by outputs, then inputs, u2 are summed.
bool pair_moves_less(std::int64_t first_units, std::int64_t second_units) {
  return 2 * second_units < 3 * first_units + second_units;
}

/// Whether a layer from `first` on, also inside another one, may share a parameter of an earlier one.
bool shares_from(std::vector<Entry>& entries, std::size_t first) {
  for (std::size_t i = first; i < entries.size(); ++i) {
    if (entries[i].type == "reconstruct" ||
        (entries[i].type == "dense" && !dense(entries[i]).tied_to.empty()))
      return true;
    if (auto* const composite = dynamic_cast<CompositeLayer*>(entries[i].layer.get()))
      for (Sequence* const inner : composite->sequences())
        if (shares_from(inner->entries(), 0)) return true;
  }
  return false;
}

/// The number of first entries that split the rows of a group: those before the first sharded layer, unless
/// they only copy, so that gathering their output costs more than it saves, or others share their parameters.
std::size_t entries_that_split_rows(std::vector<Entry>& entries, const std::vector<bool>& cut) {
  const auto first = static_cast<std::size_t>(std::ranges::find(cut, true) - cut.begin());
  if (first == entries.size() || shares_from(entries, first)) return 0;
  const bool computes = std::any_of(
      entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(first), [](const Entry& entry) {
        return !entry.layer->is_elementwise() && entry.type != "flatten" && entry.type != "dropout";
      });
  return computes ? first : 0;
}

}  // namespace

void shard_dense_layers(Sequence& layers, ModelGroup& group, const Partition& partition) {
  const bool exact = partition.exact;
  if (group.size() == 1 && !exact) return;
  std::vector<Entry> result;
  std::vector<Entry>& entries = layers.entries();
  const std::vector<bool> cut = dense_to_cut(entries);
  const std::size_t split = group.size() > 1 && partition.rows ? entries_that_split_rows(entries, cut) : 0;
  const auto exchange = [&](ExchangeKind kind, std::int64_t width) {
    if (group.size() > 1) result.push_back({.layer = make_exchange(kind, group, width), .type = "exchange"});
  };
  const auto replace = [&](Entry& entry, const DenseShard& shard, std::int64_t width) -> const ShardedDense& {
    auto sharded =
        std::make_unique<ShardedDense>(dense(entry), shard, exact ? make_unit_sum(group, width) : nullptr);
    const ShardedDense& layer = *sharded;
    entry.layer = std::move(sharded);
    return layer;
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!cut[i]) {
      entries[i].splits_rows = i < split;
      result.push_back(std::move(entries[i]));
      continue;
    }
    const bool follows_split = split > 0 && i == split;
    if (follows_split)
      result.push_back({.layer = make_row_exchange(group, *partition.rows, !exact), .type = "exchange"});
    const std::int64_t units = dense(entries[i]).units;
    const std::size_t next = dense_after(entries, cut, i);
    const bool paired = next != kNone && pair_moves_less(units, dense(entries[next]).units);
    const Range part = group.part(units);
    if (!exact && !follows_split) exchange(ExchangeKind::copy, 0);
    replace(entries[i], {.along = DenseShard::Along::outputs, .first = part.first, .last = part.last}, units);
    result.push_back(std::move(entries[i]));
    if (!paired) {
      exchange(ExchangeKind::join, units);
      continue;
    }
    for (++i; i < next; ++i) result.push_back(std::move(entries[i]));
    const ShardedDense& second = replace(
        entries[next],
        {.along = DenseShard::Along::inputs, .first = part.first, .last = part.last, .inputs = units}, units);
    result.push_back(std::move(entries[next]));
    if (exact) continue;
    exchange(ExchangeKind::sum, second.settings().units);
    if (second.settings().bias || second.settings().activation != Activation::none)
      result.push_back({.layer = std::make_unique<BiasActivation>(second), .type = "bias"});
  }
  entries = std::move(result);
}

}  // namespace trainer
