// Samples are in memory once a host, and a bad file is known to all ranks.
#include <cmath>

#include "datasets/loading/data.h"
#include "engine/config/config_tree.h"
#include "tests/datasets/files.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

/// Three samples of two bytes, and how often they were made.
class Counted final : public Dataset {
 public:
  explicit Counted(std::int64_t& fills)
      : Dataset({.size = 3, .sample = {1, 1, 2}, .classes = 2}), fills_(fills) {}
  void read_labels(std::span<const std::int64_t>, std::span<std::int32_t> labels) const override {
    std::ranges::fill(labels, 1);
  }
  std::int64_t stored_bytes() const override { return 6; }
  void fill(std::span<std::uint8_t> memory) override {
    ++fills_;
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(10 * i);
  }
  void attach(std::span<std::uint8_t> memory) override { memory_ = memory; }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    for (std::size_t row = 0; row < indices.size(); ++row)
      for (std::size_t i = 0; i < 2; ++i)
        x.data()[row * 2 + i] = memory_[static_cast<std::size_t>(indices[row]) * 2 + i];
  }

 private:
  std::int64_t& fills_;
  std::span<const std::uint8_t> memory_;
};

}  // namespace

TEST_CASE("one rank of a host reads the samples, and all have them with the same statistics", "[data]") {
  std::int64_t fills = 0;
  auto train = std::make_unique<Counted>(fills), test = std::make_unique<Counted>(fills);
  Data data{.sources = {train.get(), test.get()}};
  auto normalised = std::make_unique<Normalised>(std::move(train));
  data.normalised = {normalised.get()};
  data.train = std::move(normalised);
  data.test = std::move(test);
  load_samples(data, test_world());
  test_world().sum(std::span(&fills, 1));
  CHECK(fills == 2);  // a call for each split

  const std::vector<std::int64_t> all = {2, 0, 1};
  std::vector<float> x(6);
  data.test->read(all, {x.data(), {3, 1, 1, 2}});
  CHECK(x == std::vector<float>{40, 50, 0, 10, 20, 30});
  data.train->read(all, {x.data(), {3, 1, 1, 2}});
  const float edge = std::sqrt(1.5f);
  const std::vector<float> expected = {edge, edge, -edge, -edge, 0, 0};
  for (std::size_t i = 0; i < 6; ++i) CHECK(x[i] == Approx(expected[i]).margin(1e-6));
}

TEST_CASE("digits that other ranks of the host draw at the same time are the same digits", "[data]") {
  const ConfigTree tree({.file = "run.yaml", .text = "data: {dataset: digits, fraction: 0.01}\n"},
                        {section("data", "the data", data_settings())});
  Data data = open_data(tree.root().at("data"), 1);
  load_samples(data, test_world());
  constexpr std::int64_t kCount = 500;
  std::vector<std::int64_t> all(kCount);
  // Each begins at a place of its own, so that all draw and all read what others drew.
  for (std::int64_t i = 0; i < kCount; ++i)
    all[static_cast<std::size_t>(i)] = (i + 100 * test_world().rank()) % kCount;
  std::vector<float> x(kCount * 784);
  data.train->read(all, {x.data(), {kCount, 28, 28, 1}});
  Data alone = open_data(tree.root().at("data"), 1);
  load_samples(alone, *solo());
  std::vector<float> expected(x.size());
  alone.train->read(all, {expected.data(), {kCount, 28, 28, 1}});
  CHECK(x == expected);
}

TEST_CASE("a data file that turns out to be damaged is an error on every rank", "[data]") {
  const TemporaryDirectory directory;
  Bytes images = gzipped(idx_bytes({4, 2, 2}, Bytes(16, 7)));
  images[images.size() - 8] ^= 0x55;  // the checksum, which is looked at last
  directory.write("train-images-idx3-ubyte.gz", images);
  directory.write("train-labels-idx1-ubyte", idx_bytes({4}, Bytes(4, 1)));
  directory.write("t10k-images-idx3-ubyte", idx_bytes({4, 2, 2}, Bytes(16, 7)));
  directory.write("t10k-labels-idx1-ubyte", idx_bytes({4}, Bytes(4, 1)));
  const ConfigTree tree(
      {.file = "run.yaml", .text = "data: {dataset: mnist, path: " + directory.path() + "}\n"},
      {section("data", "the data", data_settings())});
  Data data = open_data(tree.root().at("data"), 1);
  const std::string words = data_error([&] { load_samples(data, test_world()); });
  if (test_world().rank() == 0) CHECK_THAT(words, Catch::Contains("gzip file is"));
}

}  // namespace trainer
