#include "engine/parallel/sign_exchange.h"

#include <algorithm>
#include <array>

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
  for (const CompressedParameter& parameter : parameters) {
    if (parameter.in_float32) {
      in_float32_.push_back(parameter.range);
      floats_ += parameter.range.count();
      continue;
    }
    for (std::int64_t first = parameter.range.first; first < parameter.range.last;
         first += SignBlock::kValues)
      blocks_.push_back({first, std::min(first + SignBlock::kValues, parameter.range.last)});
  }
  for (const std::int64_t count : arrays) {
    bytes_.push_back(count * bytes_of_array());
    arrays_ += at(count);
  }
  own_.resize(at(bytes_[at(ranks.rank())]));
  all_.resize(arrays_ * at(bytes_of_array()));
}

std::int64_t SignExchange::bytes_of_array() const {
  return std::ssize(blocks_) * static_cast<std::int64_t>(sizeof(SignBlock)) +
         floats_ * static_cast<std::int64_t>(sizeof(float));
}

std::span<SignBlock> SignExchange::blocks(Codes& codes, std::size_t array) const {
  return {reinterpret_cast<SignBlock*>(codes.data() + array * at(bytes_of_array())), blocks_.size()};
}

std::span<float> SignExchange::values_as_they_are(Codes& codes, std::size_t array) const {
  return {reinterpret_cast<float*>(codes.data() + (array + 1) * at(bytes_of_array())) - floats_, at(floats_)};
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
  const std::span<SignBlock> codes = blocks(own_, index);
  for_each_block([&](std::size_t i, const Range& range) {
    const std::span<const float> mine = floats_of(values, range);
    const std::span<float> rest = floats_of(residual, range);
    codes[i] = trainer::encode(mine);
    decode(codes[i], rest);
    for (std::size_t k = 0; k < rest.size(); ++k) rest[k] = mine[k] - rest[k];
  });
  auto next = values_as_they_are(own_, index).begin();
  for (const Range& range : in_float32_) {
    next = std::ranges::copy(floats_of(values, range), next).out;
    std::ranges::fill(floats_of(residual, range), 0.0f);
  }
}

void SignExchange::sum(std::span<float> sums) {
  ranks_.start_all_gather(std::as_bytes(std::span(own_)), std::as_writable_bytes(std::span(all_)), bytes_)
      ->wait();
  for_each_block([&](std::size_t i, const Range& range) {
    const std::span<float> sum = floats_of(sums, range);
    std::array<float, SignBlock::kValues> room;
    const std::span<float> addend = std::span(room).first(sum.size());
    decode(blocks(all_, 0)[i], sum);
    for (std::size_t array = 1; array < arrays_; ++array) {
      decode(blocks(all_, array)[i], addend);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += addend[k];
    }
  });
  for (std::size_t array = 0; array < arrays_; ++array) {
    auto next = values_as_they_are(all_, array).begin();
    for (const Range& range : in_float32_)
      for (float& sum : floats_of(sums, range)) sum = (array == 0 ? 0.0f : sum) + *next++;
  }
}

}  // namespace trainer
