#include <fmt/format.h>

#include <cmath>

#include "models/losses/loss.h"

namespace trainer {
namespace {

/// Two embeddings of a pair, drawn together where they belong together, else pushed apart to a margin
/// (Hadsell, Chopra and LeCun 2006). The output is both, one behind the other; the class says whether they
/// belong together.
class Contrastive final : public Loss {
 public:
  explicit Contrastive(const Config& config) : config_(config), margin_(config.get<double>("margin")) {}

  void setup(const Shape& output, int classes) override {
    if (classes != 2)
      config_.fail("", "contrastive wants pairs of two classes: 0 for two things, 1 for the same");
    if (output.size() % 2 != 0)
      config_.fail("", fmt::format("contrastive takes the output for two embeddings; {} numbers are odd",
                                   output.size()));
  }

  double evaluate(ConstTensor y, const Targets& targets, float scale, Tensor dy) const override {
    const std::int64_t half = y.row_size() / 2;
    double loss = 0;
    for (std::int64_t row = 0; row < y.rows(); ++row) {
      const float* const first = y.data() + row * 2 * half;
      const float* const second = first + half;
      double square = 0;
      for (std::int64_t k = 0; k < half; ++k) {
        const double difference = static_cast<double>(first[k]) - static_cast<double>(second[k]);
        square += difference * difference;
      }
      const bool same = targets.labels[static_cast<std::size_t>(row)] == 1;
      const double distance = std::sqrt(square), missing = margin_ - distance;
      const bool is_far = !same && missing <= 0;
      if (same)
        loss += square / 2;
      else if (!is_far)
        loss += missing * missing / 2;
      if (dy.empty()) continue;
      // Of a pair at one place no direction leads apart.
      const double factor = same ? 1 : is_far || distance == 0 ? 0 : -missing / distance;
      for (std::int64_t k = 0; k < half; ++k) {
        const auto slope =
            static_cast<float>(factor * (static_cast<double>(first[k]) - static_cast<double>(second[k])));
        dy[row * 2 * half + k] = scale * slope;
        dy[row * 2 * half + half + k] = -scale * slope;
      }
    }
    return loss;
  }

 private:
  Config config_;
  double margin_;
};

const Registry<Loss>::Add registered{
    {.name = "contrastive",
     .help = "the two halves of the output drawn together (class 1) or pushed apart to a margin (class 0)",
     .primary = "margin",
     .settings = {real("margin", "how far apart is enough").above(0).fallback("1")}},
    [](const Config& config) { return std::make_unique<Contrastive>(config); }};

}  // namespace
}  // namespace trainer
