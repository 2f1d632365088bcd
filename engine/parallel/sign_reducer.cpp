#include "engine/parallel/sign_reducer.h"

#include <algorithm>
#include <array>

#include "engine/parallel/split_sum.h"

namespace trainer {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

constexpr auto kBlockBytes = static_cast<std::int64_t>(sizeof(SignBlock));

}  // namespace

SignReducer::SignReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
                         const std::vector<CompressedParameter>& parameters)
    : FeedbackReducer(mesh, pool, window) {
  for (const CompressedParameter& parameter : parameters)
    for (std::int64_t first = parameter.range.first; first < parameter.range.last;
         first += SignBlock::kValues)
      blocks_.push_back({first, std::min(first + SignBlock::kValues, parameter.range.last)});
  own_.resize(blocks_.size());
  all_.resize(blocks_.size());
  received_.resize(at(range_of(ranks_.rank()).count()) * at(ranks_.size()));
}

Range SignReducer::range_of(int rank) const {
  return part_of(Range{0, std::ssize(blocks_)}, rank, ranks_.size());
}

void SignReducer::exchange(std::span<float> sums, std::span<float> residual) {
  const auto floats_of = [](std::span<float> flat, const Range& block) {
    return flat.subspan(at(block.first), at(block.count()));
  };
  // rest = values - what the block gives for them
  const auto encode_with_rest = [](std::span<const float> values, std::span<float> rest) {
    const SignBlock block = encode(values);
    decode(block, rest);
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = values[i] - rest[i];
    return block;
  };
  split_sum(std::ssize(sums), &pool_, [&](int part, int parts) {
    const Range mine = part_of(Range{0, std::ssize(blocks_)}, part, parts);
    for (std::int64_t i = mine.first; i < mine.last; ++i)
      own_[at(i)] = encode_with_rest(floats_of(sums, blocks_[at(i)]), floats_of(residual, blocks_[at(i)]));
  });

  const auto ranks = at(ranks_.size());
  const Range mine = range_of(ranks_.rank());
  std::vector<std::int64_t> out, in(ranks, kBlockBytes * mine.count());
  for (int rank = 0; rank < ranks_.size(); ++rank) out.push_back(kBlockBytes * range_of(rank).count());
  ranks_
      .start_all_to_all(std::as_bytes(std::span(own_)), out, std::as_writable_bytes(std::span(received_)), in)
      ->wait();
  split_sum(mine.count() * SignBlock::kValues * std::ssize(out), &pool_, [&](int part, int parts) {
    const Range here = part_of(mine, part, parts);
    for (std::int64_t i = here.first; i < here.last; ++i) {
      const Range& block = blocks_[at(i)];
      std::array<float, SignBlock::kValues> sum_room = {}, part_room;
      const std::span<float> sum = std::span(sum_room).first(at(block.count())),
                             addend = std::span(part_room).first(at(block.count()));
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        decode(received_[rank * at(mine.count()) + at(i - mine.first)], addend);
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += addend[k];
      }
      all_[at(i)] = encode_with_rest(sum, addend);
      const std::span<float> rest = floats_of(residual, block);
      for (std::size_t k = 0; k < rest.size(); ++k) rest[k] += addend[k];
    }
  });
  const std::vector<SignBlock> summed(all_.begin() + mine.first, all_.begin() + mine.last);
  ranks_.start_all_gather(std::as_bytes(std::span(summed)), std::as_writable_bytes(std::span(all_)), out)
      ->wait();
  split_sum(std::ssize(sums), &pool_, [&](int part, int parts) {
    const Range here = part_of(Range{0, std::ssize(blocks_)}, part, parts);
    for (std::int64_t i = here.first; i < here.last; ++i)
      decode(all_[at(i)], floats_of(sums, blocks_[at(i)]));
  });
}

}  // namespace trainer
