#include "models/network/partition.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "models/layers/attention.h"
#include "models/layers/embedding.h"
#include "models/network/bias_activation.h"
#include "models/network/sharded_attention.h"
#include "models/network/sharded_dense.h"

namespace trainer {
namespace {

using Entry = Sequence::Entry;
using Entries = std::vector<Entry>;
constexpr std::size_t kNone = static_cast<std::size_t>(-1);

const DenseSettings& dense(const Entry& entry) { return dynamic_cast<const Dense&>(*entry.layer).settings(); }

std::vector<Sequence*> sequences_in(const Entry& entry) {
  auto* const composite = dynamic_cast<CompositeLayer*>(entry.layer.get());
  return composite ? composite->sequences() : std::vector<Sequence*>{};
}

/// Adds the names of layers whose weight a dense layer shares.
void find_tied(const Entries& entries, std::set<std::string>& names) {
  for (const Entry& entry : entries) {
    if (entry.type == "dense") names.insert(dense(entry).tied_to);
    for (const Sequence* const inner : sequences_in(entry)) find_tied(inner->entries(), names);
  }
}

/// Dense layers that share the weight of the layer `name`.
std::int64_t count_ties(const Entries& entries, const std::string& name) {
  std::int64_t count = 0;
  for (const Entry& entry : entries) {
    if (entry.type == "dense" && dense(entry).tied_to == name) ++count;
    for (const Sequence* const inner : sequences_in(entry)) count += count_ties(inner->entries(), name);
  }
  return count;
}

/// Whether a layer from `first` on, also inside another one, may share a parameter of an earlier one.
bool shares_from(const Entries& entries, std::size_t first) {
  for (std::size_t i = first; i < entries.size(); ++i) {
    if (entries[i].type == "reconstruct" ||
        (entries[i].type == "dense" && !dense(entries[i]).tied_to.empty()))
      return true;
    for (const Sequence* const inner : sequences_in(entries[i]))
      if (shares_from(inner->entries(), 0)) return true;
  }
  return false;
}

/// Whether the second of two dense layers is better sharded along its inputs. Floats a sample moves, counting
/// an all-gather of n as n and a sum of n as 2 n: by outputs twice, u1 and u2 are joined and u1 gradients
/// summed; by outputs, then inputs, u2 are summed. A layer that expands its input counts as the larger one.
bool pair_moves_less(const DenseSettings& first, const DenseSettings& second) {
  return first.expand > 0 || 2 * second.units < 3 * first.units + second.units;
}

/// The number of first entries that split the rows of a group: those before the first one with a shard,
/// unless they only copy, so that gathering their output costs more than it saves, or others share their
/// parameters.
std::size_t entries_that_split_rows(const Entries& entries, const std::vector<bool>& sharded) {
  const auto first = static_cast<std::size_t>(std::ranges::find(sharded, true) - sharded.begin());
  if (first == entries.size() || shares_from(entries, first)) return 0;
  const bool computes = std::any_of(
      entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(first), [](const Entry& entry) {
        return !entry.layer->is_elementwise() && entry.type != "flatten" && entry.type != "dropout";
      });
  return computes ? first : 0;
}

/// Rewrites the sequences of one network.
class Sharding {
 public:
  /// `top`: the entries of the network itself.
  Sharding(ModelGroup& group, const Entries& top, std::set<std::string> tied)
      : group_(group), top_(top), tied_(std::move(tied)) {}

  void rewrite(Entries& entries, const std::optional<RowSplit>& rows);

 private:
  bool is_own_dense(const Entry& entry) const;
  std::size_t dense_after(const Entries& entries, std::size_t first) const;
  bool splits_tokens(std::size_t index) const;
  /// Whether an entry multiplies two dense layers of as many units, and a third one sees the product.
  bool is_gate(const Entries& entries, std::size_t index) const;
  /// Whether an entry is sharded, or has sharded layers inside.
  bool has_shard(const Entries& entries, std::size_t index) const;
  std::vector<bool> sharded(const Entries& entries) const;

  void add_exchange(ExchangeKind kind, std::int64_t width = 0);
  void add_sum(const std::string& layer, const std::string& bias, Activation activation);
  void add_attention(Entry entry);
  std::size_t add_dense(Entries& entries, std::size_t index);
  std::size_t add_gate(Entries& entries, std::size_t index);
  /// The entries from `first` to the dense layer `next`, which has the inputs of this rank's units of
  /// `units`.
  void add_second(Entries& entries, std::size_t first, std::size_t next, const ShardedDense& units);

  ModelGroup& group_;
  const Entries& top_;
  std::set<std::string> tied_;
  Entries result_;
};

/// Whether a dense layer has no adapter, and a weight that no other layer shares; one without a name may be
/// found by type and number.
bool Sharding::is_own_dense(const Entry& entry) const {
  return entry.type == "dense" && dense(entry).tied_to.empty() && dense(entry).adapter.rank == 0 &&
         (entry.name.empty()
              ? std::ranges::none_of(tied_, [](const std::string& name) { return name.starts_with("dense"); })
              : !tied_.contains(entry.name));
}

/// The dense layer of known units that sees `first`'s units with only elementwise layers between, or kNone.
std::size_t Sharding::dense_after(const Entries& entries, std::size_t first) const {
  std::size_t next = first + 1;
  while (next < entries.size() && entries[next].layer->is_elementwise()) ++next;
  return next < entries.size() && is_own_dense(entries[next]) && dense(entries[next]).units > 0 ? next
                                                                                                : kNone;
}

bool Sharding::is_gate(const Entries& entries, std::size_t index) const {
  if (entries[index].type != "multiply" || dense_after(entries, index) == kNone) return false;
  std::set<std::int64_t> units;
  const std::vector<Sequence*> branches = sequences_in(entries[index]);
  for (const Sequence* const branch : branches) {
    const Entries& layers = branch->entries();
    if (layers.size() != 1 || !is_own_dense(layers.front())) return false;
    units.insert(dense(layers.front()).units);
  }
  return branches.size() == 2 && units.size() == 1 && *units.begin() > 0;
}

/// Whether the embedding top_[index] is sharded by tokens: with the layers that share its weight, if each has
/// a unit for each token; without any, if no layer behind it would else split rows.
bool Sharding::splits_tokens(std::size_t index) const {
  const Entry& table = top_[index];
  const std::int64_t tokens = dynamic_cast<const Embedding&>(*table.layer).vocabulary();
  if (table.name.empty()) {
    if (std::ranges::any_of(tied_, [](const std::string& name) { return name.starts_with("embedding"); }))
      return false;
  } else if (const std::int64_t ties = count_ties(top_, table.name); ties > 0) {
    return ties == std::ranges::count_if(top_, [&](const Entry& entry) {
             return entry.type == "dense" && dense(entry).tied_to == table.name &&
                    dense(entry).units == tokens;
           });
  }
  std::size_t next = index + 1;
  while (next < top_.size() && (top_[next].layer->is_elementwise() || top_[next].type == "dropout")) ++next;
  return next < top_.size() && has_shard(top_, next);
}

bool Sharding::has_shard(const Entries& entries, std::size_t index) const {
  const Entry& entry = entries[index];
  const bool is_top = &entries == &top_;
  if (entry.type == "attention") return !dynamic_cast<const Attention&>(*entry.layer).has_adapters();
  if (is_gate(entries, index)) return true;
  if (entry.type == "embedding") return is_top && splits_tokens(index);
  // What an expanding layer gathers is known after setup only.
  if (is_own_dense(entry)) return dense(entry).units > 0 || dense_after(entries, index) != kNone;
  if (entry.type == "dense" && is_top)
    for (std::size_t before = 0; before < index; ++before)
      if (top_[before].type == "embedding" && !top_[before].name.empty() &&
          top_[before].name == dense(entry).tied_to)
        return splits_tokens(before);
  if (entry.type != "residual") return false;
  return std::ranges::any_of(sequences_in(entry), [&](const Sequence* inner) {
    return std::ranges::count(sharded(inner->entries()), true) > 0;
  });
}

std::vector<bool> Sharding::sharded(const Entries& entries) const {
  std::vector<bool> result;
  for (std::size_t i = 0; i < entries.size(); ++i) result.push_back(has_shard(entries, i));
  return result;
}

void Sharding::add_exchange(ExchangeKind kind, std::int64_t width) {
  if (group_.size() > 1) result_.push_back({.layer = make_exchange(kind, group_, width), .type = "exchange"});
}

/// Completes partial sums.
void Sharding::add_sum(const std::string& layer, const std::string& bias, Activation activation) {
  if (group_.exact()) return;
  add_exchange(ExchangeKind::sum);
  if (!bias.empty() || activation != Activation::none)
    result_.push_back({.layer = std::make_unique<BiasActivation>(layer, bias, activation), .type = "bias"});
}

void Sharding::add_attention(Entry entry) {
  auto layer =
      std::make_unique<ShardedAttention>(dynamic_cast<const Attention&>(*entry.layer).heads(), group_);
  const ShardedAttention& attention = *layer;
  entry.layer = std::move(layer);
  result_.push_back(std::move(entry));
  add_sum(attention.name(), attention.has_bias() ? "out_proj.bias" : "", Activation::none);
}

/// A dense layer, and the one that forms a pair with it; returns the last one's index.
std::size_t Sharding::add_dense(Entries& entries, std::size_t index) {
  const DenseSettings settings = dense(entries[index]);
  const std::size_t next = dense_after(entries, index);
  auto layer = std::make_unique<ShardedDense>(settings, group_);
  const ShardedDense& first = *layer;
  entries[index].layer = std::move(layer);
  result_.push_back(std::move(entries[index]));
  if (next == kNone || !pair_moves_less(settings, dense(entries[next]))) {
    add_exchange(ExchangeKind::join, settings.units);
    return index;
  }
  add_second(entries, index + 1, next, first);
  return next;
}

/// A product of dense layers, and the one that sees it; returns the last one's index.
std::size_t Sharding::add_gate(Entries& entries, std::size_t index) {
  const std::size_t next = dense_after(entries, index);
  const ShardedDense* first = nullptr;
  for (Sequence* const branch : sequences_in(entries[index])) {
    Entry& entry = branch->entries().front();
    auto layer = std::make_unique<ShardedDense>(dense(entry), group_);
    if (!first) first = layer.get();
    entry.layer = std::move(layer);
  }
  result_.push_back(std::move(entries[index]));
  add_second(entries, index + 1, next, *first);
  return next;
}

void Sharding::add_second(Entries& entries, std::size_t first, std::size_t next, const ShardedDense& units) {
  for (; first < next; ++first) result_.push_back(std::move(entries[first]));
  auto second = std::make_unique<ShardedDense>(dense(entries[next]), group_, units);
  const ShardedDense& completed = *second;
  entries[next].layer = std::move(second);
  result_.push_back(std::move(entries[next]));
  add_sum(completed.name(), completed.settings().bias ? "bias" : "", completed.settings().activation);
}

void Sharding::rewrite(Entries& entries, const std::optional<RowSplit>& rows) {
  const std::vector<bool> has_shard = sharded(entries);
  const std::size_t split = group_.size() > 1 && rows ? entries_that_split_rows(entries, has_shard) : 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = entries[i];
    if (!has_shard[i]) {
      entry.splits_rows = i < split;
      result_.push_back(std::move(entry));
      continue;
    }
    const bool follows_split = split > 0 && i == split;
    // The gradient of a residual's input is whole, tokens have none; that of a shard's input is a partial
    // sum.
    const bool gives_sums = !group_.exact() && entry.type != "residual" && entry.type != "embedding";
    if (follows_split)
      result_.push_back({.layer = make_row_exchange(group_, *rows, gives_sums), .type = "exchange"});
    else if (gives_sums)
      add_exchange(ExchangeKind::copy);
    if (entry.type == "residual") {
      for (Sequence* const inner : sequences_in(entry))
        Sharding(group_, top_, tied_).rewrite(inner->entries(), {});
      result_.push_back(std::move(entry));
    } else if (entry.type == "embedding") {
      auto& table = dynamic_cast<Embedding&>(*entry.layer);
      table.hold(group_.part(table.vocabulary()));
      result_.push_back(std::move(entry));
      // Of each token one rank has more than zeros, so that this sum has the same bits in any order.
      add_exchange(ExchangeKind::sum);
    } else if (entry.type == "attention") {
      add_attention(std::move(entry));
    } else if (entry.type == "multiply") {
      i = add_gate(entries, i);
    } else {
      i = add_dense(entries, i);
    }
  }
  entries = std::move(result_);
}

}  // namespace

void shard_layers(Sequence& layers, ModelGroup& group, const std::optional<RowSplit>& rows) {
  if (group.size() == 1 && !group.exact()) return;
  std::set<std::string> tied;
  find_tied(layers.entries(), tied);
  Sharding(group, layers.entries(), std::move(tied)).rewrite(layers.entries(), rows);
}

}  // namespace trainer
