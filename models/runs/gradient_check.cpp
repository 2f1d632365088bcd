#include "models/runs/gradient_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <vector>

#include "engine/core/random.h"
#include "models/initializers/initializer.h"
#include "models/training/training_parts.h"

namespace trainer {
namespace {

/// The mean loss of one batch as a function of the parameters. Everything random in it stays the same.
class BatchLoss {
 public:
  /// Steps follow one another: each begins with the states that the one before leaves in layers.
  BatchLoss(TrainingParts& parts, std::int64_t step)
      : parts_(parts), network_(parts.session.network()), runner_(parts.session, network_) {
    MicroBatch batch = parts.first_micro_batch(step);
    samples_.assign(batch.samples.begin(), batch.samples.end());
    batch.samples = batch.batch = samples_;
    kept_states_.assign(network_.states().begin(), network_.states().end());
    runner_.begin(batch, parts.loader);
    runner_.load(0);
    weight_ = runner_.weight() > 0 ? runner_.weight() : 1;
    input_ = network_.input(0, std::ssize(samples_));
    kept_input_.assign(input_.span().begin(), input_.span().end());
    value();
  }

  double value() {
    runner_.clear();
    std::ranges::copy(kept_input_, input_.span().begin());
    std::ranges::copy(kept_states_, network_.states().begin());
    runner_.forward(0);
    runner_.loss(0);
    return runner_.own_loss() / weight_;
  }

  /// The gradient of all parameters, until the next call for any batch.
  FlatValues<float> differentiate() {
    parts_.reducer->begin();
    value();
    runner_.backward(0, &*parts_.reducer);
    parts_.reducer->finish();
    return parts_.windows.sums();
  }

 private:
  TrainingParts& parts_;
  Network& network_;
  BatchRunner runner_;
  std::vector<std::int64_t> samples_;
  Tensor input_;
  double weight_ = 1;
  std::vector<float> kept_input_, kept_states_;
};

double norm(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

/// Where the values of a parameter are moved: a vector of length 1.
struct Direction {
  std::vector<float> vector;
  std::int64_t elements = 0;  ///< that move

  void normalise() {
    elements = std::ssize(vector) - std::ranges::count(vector, 0.0f);
    const double length = norm(vector);
    for (float& element : vector) element = static_cast<float>(element / length);
  }
};

constexpr int kDirections = CheckedGradient::kDirections;

/// The gradient, two random halves of it, random signs, the element with the largest gradient, or a random
/// element; without elements if the gradient has none other than 0 there.
Direction direction_for(int kind, std::span<const float> gradient, const std::string& name) {
  const RandomStream random(1, name);
  const std::size_t size = gradient.size();
  Direction direction{.vector = std::vector<float>(size)};
  const auto is_in = [&](int half, std::size_t i) { return (random.bits(i) >> half & 1U) != 0; };
  const auto smaller = [](float one, float other) { return std::fabs(one) < std::fabs(other); };
  const std::size_t chosen =
      kind == 4 ? static_cast<std::size_t>(std::ranges::max_element(gradient, smaller) - gradient.begin())
                : static_cast<std::size_t>(random.below(size + static_cast<std::size_t>(kind), size));
  for (std::size_t i = 0; i < size; ++i) switch (kind) {
      case 0:
        direction.vector[i] = gradient[i];
        break;
      case 1:
      case 2:
        direction.vector[i] = is_in(kind, i) ? gradient[i] : 0;
        break;
      case 3:
        direction.vector[i] = is_in(kind, i) ? 1.0f : -1.0f;
        break;
      default:
        direction.vector[i] = i == chosen ? 1.0f : 0.0f;
    }
  if (norm(direction.vector) > 0) direction.normalise();
  return direction;
}

/// What is known where the values of all parameters are their own.
struct Point {
  BatchLoss& loss;
  double value = 0;
  std::span<const float> gradient;  ///< of the parameter that is moved
};

/// The relative error of the gradient along one direction, and how uncertain it is.
struct Comparison {
  double error = 0, doubt = std::numeric_limits<double>::infinity();
  bool decides() const { return doubt <= kMostDoubt; }
  static constexpr double kMostDoubt = CheckedGradient::kTolerance / 2;
};

/// One-sided differences of the loss, less what the gradient predicts, for steps h = first, first / 4, ...
/// Where the loss is smooth their mean is the error of the gradient + O(h^2), and half of their difference is
/// a multiple of h. What two successive steps do not share is doubt: a kink within a step, or rounding.
Comparison compare_along(const Point& point, std::span<float> values, const Direction& direction) {
  constexpr double kRounding = 4e-7;   // of the loss, relative
  constexpr double kChange = 4e-3;     // of the loss, relative, by the first step
  constexpr double kMoved = 0.3;       // of the values, relative, at most
  constexpr double kLeastValue = 0.1;  // for values that are all near zero
  constexpr int kSteps = 6;
  constexpr double kRatio = 4;
  constexpr double kSmallDoubt = 0.1 * Comparison::kMostDoubt;
  const double magnitude = std::max(std::fabs(point.value), 1e-6), rounding = kRounding * magnitude;
  const double root = std::sqrt(static_cast<double>(values.size())), usual = norm(point.gradient) / root;
  double along = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    along += static_cast<double>(point.gradient[i]) * direction.vector[i];
  const double derivative = std::max(std::fabs(along), usual);
  double step = kMoved * std::max(norm(values) / root, kLeastValue) *
                std::sqrt(static_cast<double>(direction.elements));
  if (derivative > 0) step = std::min(step, kChange * magnitude / derivative);
  const std::vector<float> kept(values.begin(), values.end());
  // The change of the loss less the predicted one, by unit of `by`, for the values as they are rounded.
  const auto difference = [&](double by) {
    double predicted = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(kept[i] + by * direction.vector[i]);
      predicted += static_cast<double>(point.gradient[i]) * (static_cast<double>(values[i]) - kept[i]);
    }
    return (point.loss.value() - point.value - predicted) / by;
  };
  Comparison best;
  double mean_before = 0, bend_before = 0;
  for (int i = 0; i < kSteps && best.doubt > kSmallDoubt; ++i, step /= kRatio) {
    const double up = difference(step), down = difference(-step);
    const double mean = (up + down) / 2, bend = (up - down) / 2;
    // What is wrong by all of itself has a relative error of 1.
    const double scale = std::max(derivative, std::fabs(along + mean));
    const double doubt =
        std::fabs(mean - mean_before) + std::fabs(bend - bend_before / kRatio) + rounding / step;
    if (i > 0 && doubt < best.doubt * scale) best = {std::fabs(mean) / scale, doubt / scale};
    mean_before = mean;
    bend_before = bend;
    if (kRatio * rounding / step > Comparison::kMostDoubt * scale) break;  // shorter steps decide nothing
  }
  std::ranges::copy(kept, values.begin());
  return best;
}

/// Equal values, as of biases, may lie on kinks: where a sample is 0, relu sees the bias alone.
void spread_equal_values(const std::vector<Parameter>& parameters, FlatValues<float> all) {
  constexpr double kMost = 0.1;
  for (const Parameter& parameter : parameters) {
    const std::span<float> values = all.subspan(parameter.offset, parameter.shape.size());
    if (std::ranges::adjacent_find(values, std::not_equal_to{}) != values.end()) continue;
    const RandomStream random(2, parameter.name);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += static_cast<float>(kMost * (2 * random.uniform(i) - 1));
  }
}

/// Layers that learn by contrastive divergence, which is the gradient of no loss.
std::set<std::string> contrastive_layers(const Config& model) {
  std::set<std::string> names;
  int unnamed = 0;
  for (const Config& layer : model.items("layers")) {
    if (layer.type() != "rbm") continue;
    const std::string name =
        layer.has("name") ? layer.get<std::string>("name") : fmt::format("rbm{}", ++unnamed);
    if (layer.get<std::string>("learn") == "contrast") names.insert(name);
  }
  return names;
}

/// What the batches found of one direction.
struct Findings {
  std::optional<double> error;  ///< the smallest
  int batches = 0;              ///< that decided
  bool is_right() const { return error && *error <= CheckedGradient::kTolerance; }
  /// One batch alone may have kinks on both sides that cancel.
  bool is_decided() const { return is_right() || batches > 1; }
};

/// Compares the gradient of a parameter along all directions on one batch.
void compare(const Point& point, std::span<float> values, const std::string& name,
             std::array<Findings, kDirections>& findings) {
  for (int kind = 0; kind < kDirections; ++kind) {
    Findings& known = findings[static_cast<std::size_t>(kind)];
    // Another batch has other kinks, but the same mistakes.
    if (known.is_right()) continue;
    const Direction direction = direction_for(kind, point.gradient, name);
    if (direction.elements == 0) continue;
    const Comparison found = compare_along(point, values, direction);
    if (!found.decides()) continue;
    known.error = std::min(known.error.value_or(found.error), found.error);
    ++known.batches;
  }
}

}  // namespace

void check_gradients(const Config& root, Session& session,
                     const std::function<void(const CheckedGradient&)>& report) {
  constexpr std::int64_t kBatches = 5;
  TrainingParts parts(root, session, {});
  const std::vector<Parameter>& parameters = session.network().plan().parameters();
  initialize(parameters, session.settings().seed, parts.windows.values());
  spread_equal_values(parameters, parts.windows.values());
  parts.reducer->publish();
  const std::set<std::string> contrastive = contrastive_layers(root.at("model"));
  std::deque<BatchLoss> batches;
  for (std::int64_t step = 0; step < std::min(kBatches, parts.facts.total_steps); ++step)
    batches.emplace_back(parts, step);
  for (const Parameter& parameter : parameters) {
    if (parameter.rate == 0) continue;
    CheckedGradient checked{.layer = parameter.module(),
                            .parameter = parameter.name_in_module(),
                            .elements = parameter.shape.size()};
    checked.follows_loss = !contrastive.contains(checked.layer);
    const std::span<float> values = parts.windows.values().subspan(parameter.offset, checked.elements);
    std::array<Findings, kDirections> findings;
    for (BatchLoss& batch : batches) {
      const std::span<const float> sums = batch.differentiate().subspan(parameter.offset, checked.elements);
      const std::vector<float> gradient(sums.begin(), sums.end());
      if (&batch == &batches.front()) checked.norm = norm(gradient);
      if (checked.follows_loss) compare({batch, batch.value(), gradient}, values, parameter.name, findings);
      if (!checked.follows_loss || std::ranges::all_of(findings, &Findings::is_right)) break;
    }
    for (const Findings& found : findings) {
      if (!found.is_decided()) continue;
      ++checked.decided;
      checked.worst_error = std::max(checked.worst_error, *found.error);
    }
    report(checked);
  }
}

}  // namespace trainer
