#include <fmt/format.h>

#include <cmath>

#include "models/losses/loss.h"

namespace trainer {
namespace {

/// Contrastive loss of a pair (Hadsell, Chopra and LeCun 2006): d^2 / 2 for class 1, max(0, margin - d)^2 / 2
/// for class 0, with d the distance of the two embeddings. The output is both embeddings, one after the
/// other.
class Contrastive final : public Loss {
 public:
  explicit Contrastive(const Config& config) : config_(config), margin_(config.get<double>("margin")) {}

  void setup(const Shape& output, int classes) override {
    if (classes != 2)
      config_.fail("", "contrastive requires two classes: 0 for a different pair, 1 for an equal pair");
    if (output.size() % 2 != 0)
      config_.fail("",
                   fmt::format("contrastive requires an even number of outputs, two embeddings; the model "
                               "gives {}",
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
      // Embeddings that are equal have no direction to move apart.
      const double factor = same ? 1 : is_far || distance == 0 ? 0 : -missing / distance;
      for (std::int64_t k = 0; k < half; ++k) {
        const auto gradient =
            static_cast<float>(factor * (static_cast<double>(first[k]) - static_cast<double>(second[k])));
        dy[row * 2 * half + k] = scale * gradient;
        dy[row * 2 * half + half + k] = -scale * gradient;
      }
    }
    return loss;
  }

 private:
  Config config_;
  double margin_;
};

const Registry<Loss>::Add contrastive_loss{
    {.name = "contrastive",
     .help = "distance of the two halves of the output: small for class 1, at least the margin for class 0",
     .primary = "margin",
     .settings =
         {real("margin", "distance beyond which a pair of class 0 costs nothing").above(0).fallback("1")}},
    [](const Config& config) { return std::make_unique<Contrastive>(config); }};

}  // namespace
}  // namespace trainer
