#include "datasets/dataset.h"
#include "engine/config/registry.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

/// Random samples, computed at each read: half noise, half the pattern of their class, so that a network can
/// learn them. Element i of a target that is values is 1 if element i of the sample is above 0.5, else 0.
class Synthetic final : public Dataset {
 public:
  Synthetic(const DatasetInfo& info, std::uint64_t seed, const std::string& split)
      : Dataset(info), noise_(seed, "synthetic " + split), pattern_(seed, "synthetic pattern") {}

  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    if (classes() == 0) return Dataset::read_labels(indices, labels);
    for (std::size_t row = 0; row < indices.size(); ++row)
      labels[row] = static_cast<std::int32_t>(indices[row] % classes());
  }

  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    const std::size_t size = sample().size();
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const std::span<float> elements(x.data() + row * size, size);
      noise_.fill_uniform(static_cast<std::uint64_t>(indices[row]) * size, elements);
      if (classes() == 0) continue;
      // A short pattern, repeated: fast to compute, and learnt as well as a long one.
      constexpr std::size_t kPattern = 64;
      std::array<float, kPattern> pattern;
      pattern_.fill_uniform(static_cast<std::uint64_t>(label(indices[row])) * kPattern, pattern);
      for (std::size_t i = 0; i < size; ++i) elements[i] = 0.5f * (elements[i] + pattern[i % kPattern]);
    }
  }

  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    if (classes() > 0) return Dataset::read_targets(indices, values);
    const auto size = static_cast<std::uint64_t>(sample().size());
    const auto outputs = static_cast<std::uint64_t>(target().size());
    for (std::size_t row = 0; row < indices.size(); ++row)
      for (std::uint64_t i = 0; i < outputs; ++i)
        values.data()[row * outputs + i] =
            noise_.uniform(static_cast<std::uint64_t>(indices[row]) * size + i % size) > 0.5f ? 1.0f : 0.0f;
  }

 private:
  RandomStream noise_, pattern_;
};

/// The shape at `key`, written channels first, as samples have it in memory: channels last.
Shape written_shape(const Config& config, std::string_view key) {
  const auto extents = config.get<std::vector<std::int64_t>>(key);
  if (extents.empty() || extents.size() >= Shape::kMaxRank) config.fail(key, "a shape has 1 to 5 extents");
  if (extents.size() == 3) return {extents[1], extents[2], extents[0]};
  return Shape(extents);
}

class SyntheticReader final : public Reader {
 public:
  SyntheticReader(const Config& config, const ReaderContext& context)
      : info_{.sample = written_shape(config, "shape")},
        train_(config.get<std::int64_t>("train")),
        test_(config.get<std::int64_t>("test")),
        seed_(context.seed) {
    if (config.has("target"))
      info_.target = written_shape(config, "target");
    else
      info_.classes = config.get<int>("classes");
  }
  bool missing(std::vector<std::string>&) const override { return false; }
  DataSource open() override {
    DataSource source{.name = "synthetic", .fingerprint = {"synthetic, version 1"}};
    info_.size = train_;
    source.train = std::make_unique<Synthetic>(info_, seed_, "train");
    info_.size = test_;
    if (test_ > 0) source.test = std::make_unique<Synthetic>(info_, seed_, "test");
    return source;
  }

 private:
  DatasetInfo info_;
  std::int64_t train_, test_;
  std::uint64_t seed_;
};

const Registry<Reader, const ReaderContext&>::Add synthetic_reader{
    {.name = "synthetic",
     .help = "random samples with a pattern to learn, for benchmarks and trials; needs no file",
     .settings =
         {list_of("shape", "extents of a sample; [channels, height, width] for images",
                  integer("", "an extent").at_least(1)),
          integer("classes", "number of classes").at_least(1).at_most(1 << 20).fallback("10"),
          list_of("target", "extents of a target of values, instead of classes",
                  integer("", "an extent").at_least(1))
              .optional(),
          integer("train", "number of training samples").at_least(1).at_most(kMaxSamples).fallback("1024"),
          integer("test", "number of test samples").at_least(0).at_most(kMaxSamples).fallback("128")}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<SyntheticReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
