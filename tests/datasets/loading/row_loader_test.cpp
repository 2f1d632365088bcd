#include "datasets/loading/row_loader.h"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "engine/config/config_tree.h"
#include "engine/core/range.h"
#include "engine/system/thread_pool.h"

namespace trainer {
namespace {

/// Samples of two elements that take a while to read; one may be damaged.
class SlowSamples final : public Dataset {
 public:
  SlowSamples(std::int64_t size, std::int64_t bad)
      : Dataset({.size = size, .sample = {1, 2, 1}, .classes = 1, .is_streamed = true}), bad_(bad) {}
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      if (indices[row] == bad_) throw Error(ExitCode::data, "sample is damaged");
      if (indices[row] % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      x.data()[2 * row] = static_cast<float>(indices[row]);
      x.data()[2 * row + 1] = -static_cast<float>(indices[row]);
      ++reads;
    }
  }
  mutable std::atomic<std::int64_t> reads = 0;

 private:
  std::int64_t bad_;
};

constexpr std::int64_t kSamples = 50, kBatch = 16, kEpochs = 3, kSteps = 4 * kEpochs;

Data slow_data(std::int64_t bad = -1) {
  const ConfigTree tree({.file = "run.yaml", .text = "augment: [horizontal_flip]\n"},
                        {list_of("augment", "changes", family("", "a change", "transform"))});
  Data data;
  data.train = std::make_unique<SlowSamples>(kSamples, bad);
  data.augmentation = Augmentation(tree.root().items("augment"), data.train->sample(), 1);
  return data;
}

/// What all workers of all ranks got in steps [first, last), one step after the other.
std::vector<float> all_rows(const Data& data, int ranks, int workers, int idle_cores, std::int64_t first = 0,
                            std::int64_t last = kSteps) {
  const BatchOrder::Options order{.samples = kSamples, .batch = kBatch};
  std::vector<float> rows;
  std::vector<std::vector<float>> of_steps(static_cast<std::size_t>(last - first));
  for (std::size_t step = 0; step < of_steps.size(); ++step) of_steps[step].resize(2 * kBatch, -1000);
  for (int rank = 0; rank < ranks; ++rank) {
    ThreadPool pool(workers);
    BatchOrder batches(order);
    RowLoader loader(data, {.order = order,
                            .own_rows = [&](std::int64_t n) { return part_of(n, rank, ranks); },
                            .end_step = last,
                            .workers = workers,
                            .idle_cores = idle_cores});
    for (std::int64_t step = first; step < last; ++step) {
      const auto samples = batches.batch(step);
      std::vector<float>& x = of_steps[static_cast<std::size_t>(step - first)];
      loader.begin(step);
      pool.run([&](int worker) {
        const Range part = part_of(std::ssize(samples), rank * workers + worker, ranks * workers);
        loader.fetch(
            worker, part.first,
            samples.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count())),
            {x.data() + 2 * part.first, {part.count(), 1, 2, 1}});
      });
      // Something is computed from time to time, so that either side is ahead.
      if (step % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  for (const auto& x : of_steps) rows.insert(rows.end(), x.begin(), x.end());
  return rows;
}

}  // namespace

TEST_CASE("rows are the same with and without prefetching, on every thread", "[row_loader]") {
  const Data data = slow_data();
  // In memory nothing is read ahead.
  const auto expected = [&] {
    BatchOrder batches({.samples = kSamples, .batch = kBatch});
    std::vector<float> rows;
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const auto samples = batches.batch(step);
      std::vector<float> x(2 * kBatch, -1000);
      const Tensor some(x.data(), {std::ssize(samples), 1, 2, 1});
      data.train->read(samples, some);
      data.augmentation.apply(samples, step / 4, some, {});
      rows.insert(rows.end(), x.begin(), x.end());
    }
    return rows;
  }();
  const int workers = GENERATE(1, 2, 3), ranks = GENERATE(1, 3), idle_cores = GENERATE(0, 3);
  CHECK(all_rows(data, ranks, workers, idle_cores) == expected);
}

TEST_CASE("rows are mixed with other samples, of which each is augmented by itself", "[row_loader]") {
  Data data = slow_data();
  data.mixing = Mixing({.mixup = 1, .samples = kSamples, .sample = data.train->sample()});
  const int workers = GENERATE(1, 2), ranks = GENERATE(1, 3), idle_cores = GENERATE(0, 3);
  const std::vector<float> rows = all_rows(data, ranks, workers, idle_cores);
  const auto augmented = [&](std::int64_t sample, std::int64_t epoch) {
    std::array<float, 2> x;
    const Tensor row(x.data(), {1, 1, 2, 1});
    data.train->read({&sample, 1}, row);
    data.augmentation.apply({&sample, 1}, epoch, row, {});
    return x;
  };
  BatchOrder batches({.samples = kSamples, .batch = kBatch});
  bool all_equal = true;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const float* x = rows.data() + step * 2 * kBatch;
    for (const std::int64_t sample : batches.batch(step)) {
      const Mixing::Partner partner = data.mixing.partner(sample, step / 4);
      const auto own = augmented(sample, step / 4), other = augmented(partner.sample, step / 4);
      for (std::size_t i = 0; i < 2; ++i)
        all_equal &= *x++ == Approx(partner.share * own[i] + (1 - partner.share) * other[i]).margin(1e-5);
    }
  }
  CHECK(all_equal);
  CHECK(rows == all_rows(data, 1, 1, 0));
}

TEST_CASE("reading may begin at any step", "[row_loader]") {
  const Data data = slow_data();
  const auto all = all_rows(data, 1, 2, 1), later = all_rows(data, 1, 2, 1, 5);
  CHECK(std::equal(later.begin(), later.end(), all.begin() + 5 * 2 * kBatch));
}

TEST_CASE("no sample is read twice, and none beyond the last step", "[row_loader]") {
  const Data data = slow_data();
  all_rows(data, 1, 2, 2);
  const auto& samples = dynamic_cast<const SlowSamples&>(*data.train);
  CHECK(samples.reads == kSamples * kEpochs);
  samples.reads = 0;
  all_rows(data, 2, 1, 2, 0, 2);
  CHECK(samples.reads == 2 * kBatch);
}

TEST_CASE("a file that turns out to be bad while it is prefetched is an error where it is used",
          "[row_loader]") {
  const Data data = slow_data(7);
  const int workers = GENERATE(1, 2);
  for (int repeat = 0; repeat < 5; ++repeat)
    CHECK_THROWS_WITH(all_rows(data, 1, workers, repeat % 3), Catch::Contains("sample is damaged"));
}

TEST_CASE("a loader may end at any time, with rows in work", "[row_loader]") {
  const Data data = slow_data();
  for (int repeat = 0; repeat < 20; ++repeat) {
    RowLoader loader(data, {.order = {.samples = kSamples, .batch = kBatch},
                            .own_rows =
                                [](std::int64_t n) {
                                  return Range{0, n};
                                },
                            .end_step = kSteps});
    if (repeat % 4 > 0) loader.begin(repeat % 4);
    if (repeat % 4 > 1) loader.begin(0);
    std::this_thread::sleep_for(std::chrono::microseconds(100 * repeat));
  }
}

TEST_CASE("threads read ahead where files are decoded, and else only where cores are idle", "[row_loader]") {
  const Data streamed = slow_data();
  CHECK(read_ahead_threads(streamed, 2, 0) == 1);
  CHECK(read_ahead_threads(streamed, 2, 3) == 3);
  CHECK(read_ahead_threads(streamed, 1, 100) == 4);
}

}  // namespace trainer
