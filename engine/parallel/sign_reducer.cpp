#include "engine/parallel/sign_reducer.h"

#include <algorithm>
#include <array>

#include "engine/core/index.h"
#include "engine/parallel/split_sum.h"

namespace trainer {
SignReducer::SignReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
                         const std::vector<CompressedParameter>& parameters)
    : FeedbackReducer(mesh, pool, window) {
  for (const CompressedParameter& parameter : parameters)
    for (std::int64_t first = parameter.range.first; first < parameter.range.last;
         first += SignBlock::kValues)
      blocks_.push_back({first, std::min(first + SignBlock::kValues, parameter.range.last)});
  own_.resize(blocks_.size());
  all_.resize(blocks_.size() * at(ranks_.size()));
}

void SignReducer::exchange(std::span<float> sums, std::span<float> residual) {
  const auto floats_of = [](std::span<float> flat, const Range& block) {
    return flat.subspan(at(block.first), at(block.count()));
  };
  const auto for_each_block = [&](const auto& work) {
    split_sum(std::ssize(sums), &pool_, [&](int part, int parts) {
      const Range mine = part_of(std::ssize(blocks_), part, parts);
      for (std::int64_t i = mine.first; i < mine.last; ++i)
        work(at(i), floats_of(sums, blocks_[at(i)]), floats_of(residual, blocks_[at(i)]));
    });
  };
  for_each_block([&](std::size_t i, std::span<const float> values, std::span<float> rest) {
    own_[i] = encode(values);
    decode(own_[i], rest);
    for (std::size_t k = 0; k < rest.size(); ++k) rest[k] = values[k] - rest[k];
  });
  const std::vector<std::int64_t> counts(at(ranks_.size()), std::ssize(std::as_bytes(std::span(own_))));
  ranks_.start_all_gather(std::as_bytes(std::span(own_)), std::as_writable_bytes(std::span(all_)), counts)
      ->wait();
  for_each_block([&](std::size_t i, std::span<float> sum, std::span<float>) {
    std::array<float, SignBlock::kValues> room;
    const std::span<float> addend = std::span(room).first(sum.size());
    decode(all_[i], sum);
    for (std::size_t place = i + own_.size(); place < all_.size(); place += own_.size()) {
      decode(all_[place], addend);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += addend[k];
    }
  });
}

}  // namespace trainer
