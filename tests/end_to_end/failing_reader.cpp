// A data set from which one rank can read a number of samples and then no more, or reads them slowly: what a
// run does then is a test.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "datasets/dataset.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

class FailingSamples final : public Dataset {
 public:
  /// `after` below 0: it never fails. `pause`: for each sample.
  FailingSamples(std::int64_t after, std::chrono::microseconds pause)
      : Dataset({.size = 60, .sample = {4}, .classes = 10}),
        fails_(after >= 0),
        pause_(pause),
        left_(after) {}

  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    for (std::size_t row = 0; row < indices.size(); ++row)
      labels[row] = static_cast<std::int32_t>(indices[row] % 10);
  }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    if (fails_ && (left_ -= std::ssize(indices)) < 0) throw std::runtime_error("the sample cannot be read");
    std::this_thread::sleep_for(pause_ * std::ssize(indices));
    std::ranges::fill(x.span(), 0.5f);
  }

 private:
  bool fails_;
  std::chrono::microseconds pause_;
  mutable std::atomic<std::int64_t> left_;
};

class Failing final : public Reader {
 public:
  Failing(std::int64_t rank, std::int64_t after, std::int64_t pause)
      : after_(this_rank() == rank ? after : -1), pause_(this_rank() == rank ? pause : 0) {}

  bool missing(std::vector<std::string>&) const override { return false; }
  DataSource open() override {
    return {.name = "failing",
            .train = std::make_unique<FailingSamples>(after_, std::chrono::microseconds(pause_)),
            .test = nullptr,
            .fingerprint = {}};
  }

 private:
  static std::int64_t this_rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
      if (const char* rank = std::getenv(name)) return std::atoll(rank);
    return 0;
  }

  std::int64_t after_, pause_;
};

const Registry<Reader, const ReaderContext&>::Add failing_reader{
    {.name = "failing",
     .help = "60 samples, of which a rank can read only some",
     .settings = {integer("rank", "which one"), integer("after", "so many samples").fallback("-1"),
                  integer("pause", "microseconds that each of its samples takes").fallback("0")}},
    [](const Config& config, const ReaderContext&) {
      return std::make_unique<Failing>(config.get<std::int64_t>("rank"), config.get<std::int64_t>("after"),
                                       config.get<std::int64_t>("pause"));
    }};

}  // namespace
}  // namespace trainer
