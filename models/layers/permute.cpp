// permute and reshape: elements keep their values and change their places. Shapes are those of files: a map
// is (channels, height, width), though it lies in memory with its channels last.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "models/layers/layer.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

Extents file_extents(const Shape& sample) {
  if (sample.rank() == 3) return {sample[2], sample[0], sample[1]};
  return {sample.extents().begin(), sample.extents().end()};
}

Shape memory_shape(const Extents& file) {
  if (file.size() == 3) return {file[1], file[2], file[0]};
  return Shape(file);
}

/// Distances in memory between neighbours along each extent of the file's shape.
Extents strides_in_memory(const Extents& file) {
  if (file.size() == 3) return {1, file[2] * file[0], file[0]};
  Extents strides(file.size(), 1);
  for (std::size_t axis = file.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * file[axis];
  return strides;
}

/// The source of each element of the output, in the order of memory.
class Rearrangement {
 public:
  /// The output's file order reads the input along `strides`.
  Rearrangement(const Extents& read, const Extents& strides, const Extents& output) {
    const auto size = static_cast<std::size_t>(Shape(read).size());
    Extents order(size);  // input offsets in the output's file order
    for (std::size_t i = 0; i < size; ++i) {
      auto rest = static_cast<std::int64_t>(i);
      for (std::size_t axis = read.size(); axis-- > 0; rest /= read[axis])
        order[i] += rest % read[axis] * strides[axis];
    }
    from_.resize(size);
    const Extents places = strides_in_memory(output);
    for (std::size_t i = 0; i < size; ++i) {
      auto rest = static_cast<std::int64_t>(i);
      std::int64_t place = 0;
      for (std::size_t axis = output.size(); axis-- > 0; rest /= output[axis])
        place += rest % output[axis] * places[axis];
      from_[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(order[i]);
    }
  }
  bool is_identity() const {
    for (std::size_t i = 0; i < from_.size(); ++i)
      if (static_cast<std::size_t>(from_[i]) != i) return false;
    return true;
  }
  void forward(ConstTensor x, Tensor y) const {
    for_each_row(x.rows(), [&](std::int64_t begin) {
      for (std::size_t i = 0; i < from_.size(); ++i)
        y.data()[begin + std::int64_t(i)] = x.data()[begin + from_[i]];
    });
  }
  void backward(Tensor dy, Tensor dx) const {
    for_each_row(dy.rows(), [&](std::int64_t begin) {
      for (std::size_t i = 0; i < from_.size(); ++i)
        dx.data()[begin + from_[i]] = dy.data()[begin + std::int64_t(i)];
    });
  }

 private:
  template <class Visit>
  void for_each_row(std::int64_t rows, Visit visit) const {
    for (std::int64_t row = 0; row < rows; ++row) visit(row * std::ssize(from_));
  }

  std::vector<std::int32_t> from_;
};

/// What both layers share: a rearrangement that setup() made.
class Rearranging : public Layer {
 public:
  void forward(ConstTensor x, Tensor y, Pass&) final { rearrangement_->forward(x, y); }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass&) final {
    if (!dx.empty()) rearrangement_->backward(dy, dx);
  }

 protected:
  explicit Rearranging(const Config& config) : config_(config) {}
  /// Fails where a table of places would be too large.
  void require_moderate(const Shape& sample, const Plan& plan) const {
    constexpr std::int64_t kMax = 1 << 26;
    if (sample.size() > kMax)
      fail_to_fit(config_, plan, sample, fmt::format("it moves at most {} elements", kMax));
  }
  Shape rearrange(const Extents& read, const Extents& strides, const Extents& output, Plan& plan) {
    rearrangement_.emplace(read, strides, output);
    plan.backward_reads(false, false);
    if (rearrangement_->is_identity()) plan.is_view();
    return memory_shape(output);
  }
  static Extents integers_of(const Config& config, std::string_view key) {
    Extents values;
    for (const Config& item : config.items(key)) values.push_back(item.value<std::int64_t>());
    if (values.empty() || std::ssize(values) > Shape::kMaxRank - 1)
      config.fail(key, fmt::format("{} takes 1 to {} integers", key, Shape::kMaxRank - 1));
    return values;
  }

  Config config_;

 private:
  std::optional<Rearrangement> rearrangement_;
};

/// The extents of a sample in another order.
class Permute final : public Rearranging {
 public:
  explicit Permute(const Config& config) : Rearranging(config), axes_(integers_of(config, "axes")) {
    Extents sorted = axes_, counted(axes_.size());
    std::ranges::sort(sorted);
    std::iota(counted.begin(), counted.end(), 1);
    if (sorted != counted)
      config.fail("axes", fmt::format("axes are the integers from 1 to {}, each once", axes_.size()));
  }
  Shape setup(const Shape& sample, Plan& plan) override {
    if (std::ssize(axes_) != sample.rank())
      fail_to_fit(config_, plan, sample, fmt::format("it orders {} extents", axes_.size()));
    require_moderate(sample, plan);
    const Extents input = file_extents(sample), strides = strides_in_memory(input);
    Extents read, read_strides;
    for (const std::int64_t axis : axes_) {
      read.push_back(input[static_cast<std::size_t>(axis - 1)]);
      read_strides.push_back(strides[static_cast<std::size_t>(axis - 1)]);
    }
    return rearrange(read, read_strides, read, plan);
  }
  Value trace(Value x, Tracer& tracer) const override {
    std::vector<std::int64_t> order{0};
    order.insert(order.end(), axes_.begin(), axes_.end());
    return transpose(tracer.graph, x, order);
  }

 private:
  Extents axes_;
};

/// The same elements in the same order under another shape.
class Reshape final : public Rearranging {
 public:
  explicit Reshape(const Config& config) : Rearranging(config), shape_(integers_of(config, "shape")) {
    if (std::ranges::count(shape_, -1) > 1)
      config.fail("shape", "only one extent can follow from the others");
    if (std::ranges::count(shape_, 0) > 0)
      config.fail("shape", "an extent is at least 1, or -1 for what is left");
  }
  Shape setup(const Shape& sample, Plan& plan) override {
    require_moderate(sample, plan);
    Extents output = shape_;
    Extents given = output;
    std::ranges::replace(given, -1, 1);
    std::ranges::replace(output, -1, sample.size() / Shape(given).size());
    if (Shape(output).size() != sample.size())
      fail_to_fit(config_, plan, sample,
                  fmt::format("{} elements do not fill the shape {}", sample.size(), Shape(output).text()));
    const Extents input = file_extents(sample);
    output_ = output;
    return rearrange(input, strides_in_memory(input), output, plan);
  }
  Value trace(Value x, Tracer& tracer) const override {
    Extents extents{kBatch};
    extents.insert(extents.end(), output_.begin(), output_.end());
    return reshape(tracer.graph, x, std::move(extents));
  }

 private:
  Extents shape_, output_;
};

const Registry<Layer>::Add permute_layer{
    {.name = "permute",
     .help = "the extents of a sample in another order; a map's are channels, height, width",
     .primary = "axes",
     .settings = {list_of("axes", "which extent comes first, second ...: [2, 1] swaps the two of a sequence",
                          integer("axis", "an extent, counted from 1").at_least(1))}},
    [](const Config& config) { return std::make_unique<Permute>(config); }};

const Registry<Layer>::Add reshape_layer{
    {.name = "reshape",
     .help = "the same elements in the same order under another shape; a map's is channels, height, width",
     .primary = "shape",
     .settings = {list_of("shape", "the extents; -1 stands for what is left",
                          integer("extent", "an extent").at_least(-1).at_most(1e9))}},
    [](const Config& config) { return std::make_unique<Reshape>(config); }};

}  // namespace
}  // namespace trainer
