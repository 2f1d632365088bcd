#include "engine/parallel/sign_exchange.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/core/index.h"
#include "engine/parallel/split_sum.h"

namespace trainer {
namespace {

template <class Float>
std::span<Float> floats_of(std::span<Float> flat, const Range& block) {
  return flat.subspan(at(block.first), at(block.count()));
}

}  // namespace

SignExchange::SignExchange(Communicator& ranks, ThreadPool& pool,
                           const std::vector<CompressedParameter>& parameters,
                           const std::vector<std::int64_t>& arrays)
    : ranks_(ranks), pool_(pool) {
  for (const CompressedParameter& parameter : parameters)
    for (std::int64_t first = parameter.range.first; first < parameter.range.last;
         first += SignBlock::kValues)
      blocks_.push_back({first, std::min(first + SignBlock::kValues, parameter.range.last)});
  for (const std::int64_t count : arrays)
    bytes_.push_back(count * std::ssize(blocks_) * static_cast<std::int64_t>(sizeof(SignBlock)));
  own_.resize(blocks_.size() * at(arrays[at(ranks.rank())]));
  all_.resize(blocks_.size() * at(std::accumulate(arrays.begin(), arrays.end(), std::int64_t{0})));
}

template <class Work>
void SignExchange::for_each_block(Work work) {
  const std::int64_t floats = blocks_.empty() ? 0 : blocks_.back().last;
  split_sum(floats, &pool_, [&](int part, int parts) {
    const Range mine = part_of(std::ssize(blocks_), part, parts);
    for (std::int64_t i = mine.first; i < mine.last; ++i) work(at(i), blocks_[at(i)]);
  });
}

void SignExchange::encode(std::size_t index, std::span<const float> values, std::span<float> residual) {
  for_each_block([&](std::size_t i, const Range& range) {
    SignBlock& block = own_[index * blocks_.size() + i];
    const std::span<const float> mine = floats_of(values, range);
    const std::span<float> rest = floats_of(residual, range);
    block = trainer::encode(mine);
    decode(block, rest);
    for (std::size_t k = 0; k < rest.size(); ++k) rest[k] = mine[k] - rest[k];
  });
}

void SignExchange::sum(std::span<float> sums) {
  ranks_.start_all_gather(std::as_bytes(std::span(own_)), std::as_writable_bytes(std::span(all_)), bytes_)
      ->wait();
  for_each_block([&](std::size_t i, const Range& range) {
    const std::span<float> sum = floats_of(sums, range);
    std::array<float, SignBlock::kValues> room;
    const std::span<float> addend = std::span(room).first(sum.size());
    decode(all_[i], sum);
    for (std::size_t place = i + blocks_.size(); place < all_.size(); place += blocks_.size()) {
      decode(all_[place], addend);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += addend[k];
    }
  });
}

}  // namespace trainer
