#include "engine/parallel/low_rank_reducer.h"

#include <algorithm>

#include "engine/core/index.h"
#include "engine/parallel/split_sum.h"

namespace trainer {
namespace {

std::span<float> floats_of(std::span<float> flat, const Range& range) {
  return flat.subspan(at(range.first), at(range.count()));
}

}  // namespace

LowRankReducer::LowRankReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
                               const std::vector<CompressedParameter>& parameters)
    : FeedbackReducer(mesh, pool, window, parameters) {
  std::int64_t p_floats = 0, q_floats = 0, other_floats = 0;
  for (const CompressedParameter& parameter : parameters) {
    if (parameter.factor.empty()) {
      others_.push_back(parameter.range);
      other_floats += parameter.range.count();
      continue;
    }
    const LowRankShape shape{parameter.rows, parameter.columns,
                             std::ssize(parameter.factor) / parameter.columns};
    matrices_.push_back({.shape = shape,
                         .range = parameter.range,
                         .q = parameter.factor,
                         .seed = static_cast<std::uint64_t>(parameter.range.first)});
    p_floats += shape.p_floats();
    q_floats += shape.q_floats();
  }
  first_message_ = Arena(p_floats + other_floats, MemoryKind::messages);
  second_message_ = Arena(q_floats, MemoryKind::messages);
  own_ = Arena(q_floats, MemoryKind::messages);
  std::span<float> p = first_message_.floats(), q = second_message_.floats(), own = own_.floats();
  const auto take = [](std::span<float>& from, std::int64_t count) {
    const std::span<float> taken = from.first(at(count));
    from = from.subspan(at(count));
    return taken;
  };
  for (Matrix& matrix : matrices_) {
    matrix.p = take(p, matrix.shape.p_floats());
    matrix.sum_q = take(q, matrix.shape.q_floats());
    matrix.own_q = take(own, matrix.shape.q_floats());
  }
}

template <class Work>
void LowRankReducer::for_each_part(Work work) {
  split_sum(std::ssize(memory_.values()), &pool_, [&](int part, int parts) {
    for (const Matrix& matrix : matrices_) work(matrix, part, parts);
  });
}

void LowRankReducer::exchange(std::span<float> sums, std::span<float> residual) {
  for (const Matrix& matrix : matrices_) normalize_rows(matrix.shape, matrix.seed, matrix.q);
  for_each_part([&](const Matrix& matrix, int part, int parts) {
    multiply_by_q(matrix.shape, part_of(matrix.shape.rows, part, parts), floats_of(sums, matrix.range).data(),
                  matrix.q.data(), matrix.p.data());
  });
  std::int64_t other_floats = 0;
  for (const Range& other : others_) other_floats += other.count();
  const std::span<float> others = first_message_.floats().last(at(other_floats));
  auto next = others.begin();
  for (const Range& other : others_) next = std::ranges::copy(floats_of(sums, other), next).out;
  ranks_.sum(first_message_.floats());
  next = others.begin();
  for (const Range& other : others_) {
    std::copy_n(next, other.count(), floats_of(sums, other).begin());
    next += other.count();
    std::ranges::fill(floats_of(residual, other), 0.0f);
  }

  for (const Matrix& matrix : matrices_) orthonormalize(matrix.shape, matrix.p);
  for_each_part([&](const Matrix& matrix, int part, int parts) {
    multiply_by_p(matrix.shape, part_of(matrix.shape.columns, part, parts),
                  floats_of(sums, matrix.range).data(), matrix.p.data(), matrix.own_q.data());
  });
  std::ranges::copy(own_.floats(), second_message_.floats().begin());
  ranks_.sum(second_message_.floats());
  for_each_part([&](const Matrix& matrix, int part, int parts) {
    replace_by_product(matrix.shape, part_of(matrix.shape.rows, part, parts), matrix.p.data(),
                       matrix.sum_q.data(), matrix.own_q.data(), floats_of(sums, matrix.range).data(),
                       floats_of(residual, matrix.range).data());
  });
  for (const Matrix& matrix : matrices_) std::ranges::copy(matrix.sum_q, matrix.q.begin());
}

}  // namespace trainer
