#include "datasets/dataset.h"
#include "engine/config/registry.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

/// Samples made of random numbers on the spot: half noise, half the pattern of their class, so that a network
/// can learn them. Targets that are numbers are functions of the sample's first ones.
class Synthetic final : public Dataset {
 public:
  struct Form {
    std::int64_t size = 0;
    Shape sample, target;
    int classes = 0;
  };
  Synthetic(const Form& form, std::uint64_t seed, const std::string& split)
      : form_(form), noise_(seed, "synthetic " + split), pattern_(seed, "synthetic pattern") {}

  std::int64_t size() const override { return form_.size; }
  Shape sample() const override { return form_.sample; }
  int classes() const override { return form_.classes; }
  Shape target() const override { return form_.target; }
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(index % form_.classes);
  }

  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    const auto size = static_cast<std::size_t>(form_.sample.size());
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const std::span<float> numbers(x.data() + row * size, size);
      noise_.fill_uniform(static_cast<std::uint64_t>(indices[row]) * size, numbers);
      if (form_.classes == 0) continue;
      // A pattern of few numbers over and over: as good to learn from as a long one, and quickly made.
      constexpr std::size_t kPattern = 64;
      std::array<float, kPattern> pattern;
      pattern_.fill_uniform(static_cast<std::uint64_t>(label(indices[row])) * kPattern, pattern);
      for (std::size_t i = 0; i < size; ++i) numbers[i] = 0.5f * (numbers[i] + pattern[i % kPattern]);
    }
  }

  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    if (form_.classes > 0) return Dataset::read_targets(indices, values);
    const auto size = static_cast<std::uint64_t>(form_.sample.size());
    const auto numbers = static_cast<std::uint64_t>(form_.target.size());
    for (std::size_t row = 0; row < indices.size(); ++row)
      for (std::uint64_t i = 0; i < numbers; ++i)
        values.data()[row * numbers + i] =
            noise_.uniform(static_cast<std::uint64_t>(indices[row]) * size + i % size) > 0.5f ? 1.0f : 0.0f;
  }

 private:
  Form form_;
  RandomStream noise_, pattern_;
};

/// A shape as people write it, channels first, as it lies in memory.
Shape written_shape(const Config& config, std::string_view key) {
  const auto extents = config.get<std::vector<std::int64_t>>(key);
  if (extents.empty() || extents.size() >= Shape::kMaxRank) config.fail(key, "a shape has 1 to 5 extents");
  if (extents.size() == 3) return {extents[1], extents[2], extents[0]};
  return Shape(extents);
}

class SyntheticReader final : public Reader {
 public:
  SyntheticReader(const Config& config, const ReaderContext& context)
      : form_{.sample = written_shape(config, "shape")},
        train_(config.get<std::int64_t>("train")),
        test_(config.get<std::int64_t>("test")),
        seed_(context.seed) {
    if (config.has("target"))
      form_.target = written_shape(config, "target");
    else
      form_.classes = config.get<int>("classes");
  }
  bool missing(std::vector<std::string>&) const override { return false; }
  DataSource open() override {
    DataSource source{.name = "synthetic", .fingerprint = {"synthetic, version 1"}};
    form_.size = train_;
    source.train = std::make_unique<Synthetic>(form_, seed_, "train");
    form_.size = test_;
    if (test_ > 0) source.test = std::make_unique<Synthetic>(form_, seed_, "test");
    return source;
  }

 private:
  Synthetic::Form form_;
  std::int64_t train_, test_;
  std::uint64_t seed_;
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "synthetic",
     .help = "random numbers with a pattern to learn, for benchmarks and trials; needs no file",
     .settings =
         {list_of("shape", "extents of a sample, of images [channels, height, width]",
                  integer("", "an extent").at_least(1)),
          integer("classes", "number of classes").at_least(1).at_most(1 << 20).fallback("10"),
          list_of("target", "extents of a sample's numbers to learn, instead of classes",
                  integer("", "an extent").at_least(1))
              .optional(),
          integer("train", "number of training samples").at_least(1).at_most(kMostSamples).fallback("1024"),
          integer("test", "number of test samples").at_least(0).at_most(kMostSamples).fallback("128")}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<SyntheticReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
