// The parts of a checkpoint: which rank writes what, and what the other ranks send to it.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/core/index.h"
#include "engine/parallel/broadcast_text.h"
#include "models/checkpoints/checkpoint_writer.h"

namespace trainer {

/// Every rank knows the optimizer shards of all ranks. The window begins where `floats` do.
void CheckpointWriter::add_updaters(Communicator& ranks, const ParameterWindow& window, const Range& floats,
                                    int per_writer) {
  std::vector<Range> mine;
  if (gives_shard()) mine.assign(window.shard().begin(), window.shard().end());
  for (Range& range : mine) range = {floats.first + range.first, floats.first + range.last};
  std::string all;
  for (const auto& bytes : ranks.gather(std::as_bytes(std::span(mine)), 0)) {
    const std::uint64_t count = bytes.size();
    all.append(reinterpret_cast<const char*>(&count), sizeof count);
    all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  broadcast_text(ranks, all);
  Updaters& updaters =
      updaters_.emplace_back(Updaters{.ranks = ranks, .floats = floats, .per_writer = per_writer});
  for (std::size_t next = 0; next < all.size();) {
    std::uint64_t count = 0;
    std::memcpy(&count, all.data() + next, sizeof count);
    next += sizeof count;
    auto& ranges = updaters.shards.emplace_back(count / sizeof(Range));
    if (count > 0) std::memcpy(ranges.data(), all.data() + next, count);
    next += count;
  }
}

/// Of shards that all ranks have, one rank gives all.
bool CheckpointWriter::gives_shard() const {
  return !sources_.windows.rest().plan().replicated() || sources_.mesh.data().rank() == 0;
}

/// The parameters that a data rank writes.
std::span<const Parameter> CheckpointWriter::parameters_of(int writer) const {
  if (at(writer) + 1 >= first_parameter_.size()) return {};
  const std::size_t first = first_parameter_[at(writer)];
  return std::span(sources_.plan.parameters()).subspan(first, first_parameter_[at(writer) + 1] - first);
}

/// The values of the parameters that this data rank writes, flat.
std::vector<float> CheckpointWriter::part_of_values() {
  if (sources_.windows.shards_parameters())
    return part_of_shards([this](const auto& visit) { sources_.shard.visit_values(visit); });
  const auto mine = parameters_of(sources_.mesh.data().rank());
  if (mine.empty()) return {};
  const FlatValues<const float> values = sources_.windows.values();
  const std::int64_t base = mine.front().offset;
  std::vector<float> part(at(mine.back().offset + mine.back().shape.size() - base));
  for (const Parameter& parameter : mine)
    std::ranges::copy(values.subspan(parameter.offset, parameter.shape.size()),
                      part.begin() + (parameter.offset - base));
  return part;
}

/// The same of an array that is gathered from the shards of all ranks, such as an optimizer state.
std::vector<float> CheckpointWriter::part_of_shards(const VisitShard& visit_shard) {
  const auto mine = parameters_of(sources_.mesh.data().rank());
  std::vector<float> part(
      mine.empty() ? 0 : at(mine.back().offset + mine.back().shape.size() - mine.front().offset));
  for (const Updaters& updaters : updaters_) collect(visit_shard, updaters, part);
  return part;
}

/// Fills what these ranks update of `part`.
void CheckpointWriter::collect(const VisitShard& visit_shard, const Updaters& updaters,
                               std::span<float> part) {
  Communicator& ranks = updaters.ranks;
  const bool writes = ranks.rank() % updaters.per_writer == 0;
  const auto mine = writes ? parameters_of(sources_.mesh.data().rank()) : std::span<const Parameter>();
  const std::int64_t base = mine.empty() ? 0 : mine.front().offset;
  std::vector<float> out;
  std::vector<std::int64_t> counts_out(at(ranks.size())), counts_in(at(ranks.size()));
  int writer = 0;
  const auto send = [&](std::int64_t offset, std::span<const float> values) {
    if (offset < updaters.floats.first || offset >= updaters.floats.last) return;
    // Offsets and the writers' parameters ascend.
    while (parameters_of(writer).empty() ||
           parameters_of(writer).back().offset + parameters_of(writer).back().shape.size() <= offset)
      ++writer;
    const int rank = writer * updaters.per_writer;
    if (rank == ranks.rank()) {
      std::ranges::copy(values, part.begin() + (offset - base));
    } else {
      out.insert(out.end(), values.begin(), values.end());
      counts_out[at(rank)] += std::ssize(values);
    }
  };
  if (gives_shard()) visit_shard(send);
  // visit(first, last) for each range of this rank's tensors in the shard of `owner`.
  const auto overlaps = [&](int owner, const auto& visit) {
    auto range = updaters.shards[at(owner)].begin();
    const auto end = updaters.shards[at(owner)].end();
    for (const Parameter& parameter : mine) {
      const std::int64_t first = parameter.offset, last = first + parameter.shape.size();
      while (range != end && range->last <= first) ++range;
      for (auto next = range; next != end && next->first < last; ++next)
        visit(std::max(first, next->first), std::min(last, next->last));
    }
  };
  for (int owner = 0; owner < ranks.size(); ++owner)
    if (owner != ranks.rank())
      overlaps(owner, [&](std::int64_t first, std::int64_t last) { counts_in[at(owner)] += last - first; });
  std::vector<float> in(at(std::accumulate(counts_in.begin(), counts_in.end(), std::int64_t{0})));
  ranks.all_to_all(out, counts_out, in, counts_in);
  auto next = in.begin();
  for (int owner = 0; owner < ranks.size(); ++owner)
    if (owner != ranks.rank())
      overlaps(owner, [&](std::int64_t first, std::int64_t last) {
        std::copy_n(next, last - first, part.begin() + (first - base));
        next += last - first;
      });
}

/// The same for a state that one rank has as a whole.
std::vector<float> CheckpointWriter::part_of_hosted_state(std::size_t state) {
  Communicator& data = sources_.mesh.data();
  const int host = sources_.hosted->host(state);
  const std::span<const float> values = sources_.hosted->values(state);
  const auto range_of = [&](int writer) {
    const auto theirs = parameters_of(writer);
    return theirs.empty() ? Range{}
                          : Range{theirs.front().offset, theirs.back().offset + theirs.back().shape.size()};
  };
  std::vector<std::int64_t> counts_out(at(data.size())), counts_in(at(data.size()));
  std::vector<float> part(at(range_of(data.rank()).count())), out;
  for (int writer = 0; writer < data.size() && data.rank() == host; ++writer) {
    const Range range = range_of(writer);
    const auto theirs = values.subspan(at(range.first), at(range.count()));
    if (writer == host) {
      std::ranges::copy(theirs, part.begin());
    } else {
      out.insert(out.end(), theirs.begin(), theirs.end());
      counts_out[at(writer)] = range.count();
    }
  }
  if (data.rank() != host) counts_in[at(host)] = std::ssize(part);
  data.all_to_all(out, counts_out, data.rank() == host ? std::span<float>() : std::span(part), counts_in);
  return part;
}

}  // namespace trainer
