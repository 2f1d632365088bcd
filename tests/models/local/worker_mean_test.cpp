#include "models/local/worker_mean.h"

#include <catch2/catch.hpp>

#include "engine/core/random.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

constexpr int kWorkers = 7;

std::vector<float> array_of(std::int64_t worker, std::size_t size) {
  const RandomStream random(1, "array", static_cast<std::uint64_t>(worker));
  std::vector<float> array(size);
  for (std::size_t i = 0; i < size; ++i) array[i] = random.uniform(i) - 0.5f;
  return array;
}

std::vector<float> mean_on(Communicator& ranks, std::size_t size) {
  const VirtualWorkers workers{.count = kWorkers, .ranks = ranks.size()};
  const Range hosted = workers.of_rank(ranks.rank());
  std::vector<std::vector<float>> arrays;
  for (std::int64_t worker = hosted.first; worker < hosted.last; ++worker)
    arrays.push_back(array_of(worker, size));
  std::vector<const float*> pointers;
  for (const std::vector<float>& array : arrays) pointers.push_back(array.data());
  std::vector<float> mean(size);
  WorkerMean(ranks, workers).compute(pointers, mean);
  return mean;
}

}  // namespace

TEST_CASE("all ranks get the same bits of the mean over virtual workers as one process", "[local]") {
  const std::size_t size = GENERATE(0, 1, 3, 1000);  // fewer values than ranks, too
  const auto alone = solo();
  const std::vector<float> mean = mean_on(test_world(), size);
  CHECK(mean == mean_on(*alone, size));
  for (std::size_t i = 0; i < size; ++i) {
    double sum = 0;
    for (std::int64_t worker = 0; worker < kWorkers; ++worker)
      sum += static_cast<double>(array_of(worker, size)[i]);
    REQUIRE(mean[i] == Approx(sum / kWorkers).margin(1e-6));
  }
}

}  // namespace trainer
