#include "models/network/exchange.h"

#include <catch2/catch.hpp>
#include <vector>

#include "models/network/network.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

constexpr std::int64_t kRows = 5;

/// The number at a line and column of the whole tensor.
float whole_number(std::int64_t line, std::int64_t column) {
  return static_cast<float>(100 * line + column + 1);
}

/// Columns `part` of the lines of `rows`.
std::vector<float> columns(Range rows, Range part) {
  std::vector<float> numbers;
  for (std::int64_t line = rows.first; line < rows.last; ++line)
    for (std::int64_t column = part.first; column < part.last; ++column)
      numbers.push_back(whole_number(line, column));
  return numbers;
}

/// Workers join their rows' shards into whole lines, with unequal parts and ranks that hold none.
void check_join(int threads, std::int64_t width) {
  ThreadPool pool(threads, true);
  ModelGroup group(pool, test_world());
  std::vector<std::vector<float>> results(static_cast<std::size_t>(threads));
  pool.run([&](int worker) {
    const Range rows = part_of(kRows, worker, threads);
    const std::vector<float> mine = columns(rows, group.part(width));
    std::vector<float>& whole = results[static_cast<std::size_t>(worker)];
    whole.resize(static_cast<std::size_t>(rows.count() * width));
    std::vector<float> scratch(whole.size());
    group.join_columns(worker, mine, whole, width, scratch);
  });
  for (int worker = 0; worker < threads; ++worker)
    CHECK(results[static_cast<std::size_t>(worker)] == columns(part_of(kRows, worker, threads), {0, width}));
}

}  // namespace

TEST_CASE("shards of columns join to the whole, whatever the width", "[network]") {
  const int threads = GENERATE(1, 2);
  const std::int64_t width = GENERATE(1, 2, 7, 64);
  check_join(threads, width);
}

TEST_CASE("partial sums add up on every rank and worker", "[network]") {
  const int threads = GENERATE(1, 3);
  ThreadPool pool(threads, true);
  ModelGroup group(pool, test_world());
  std::vector<std::vector<float>> results(static_cast<std::size_t>(threads));
  pool.run([&](int worker) {
    std::vector<float>& numbers = results[static_cast<std::size_t>(worker)];
    numbers = {static_cast<float>(worker), static_cast<float>(group.rank() + 1)};
    group.sum(worker, numbers);
  });
  const auto ranks = static_cast<float>(group.size());
  for (int worker = 0; worker < threads; ++worker)
    CHECK(results[static_cast<std::size_t>(worker)] ==
          std::vector<float>{static_cast<float>(worker) * ranks, ranks * (ranks + 1) / 2});
}

}  // namespace trainer
