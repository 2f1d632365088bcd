#include "cli/search/range_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/terminal/text.h"

namespace trainer {
namespace {

constexpr double kDecay = 0.9;

}  // namespace

void RangeTest::add(double rate, double loss) {
  average_ = kDecay * average_ + (1 - kDecay) * loss;
  const double weight = 1 - std::pow(kDecay, static_cast<double>(points_.size() + 1));
  points_.push_back({rate, loss, average_ / weight});
}

bool RangeTest::has_diverged(std::int64_t steps) const {
  constexpr double kTimes = 4;
  if (points_.empty()) return false;
  if (!std::isfinite(points_.back().smoothed)) return true;
  const double lowest = points_[lowest_index()].smoothed;
  return std::ssize(points_) > steps / 10 && lowest > 0 && points_.back().smoothed > kTimes * lowest;
}

std::size_t RangeTest::lowest_index() const {
  std::size_t lowest = 0;
  for (std::size_t i = 1; i < points_.size(); ++i)
    if (points_[i].smoothed < points_[lowest].smoothed) lowest = i;
  return lowest;
}

std::optional<double> RangeTest::lowest() const {
  if (points_.empty()) return std::nullopt;
  return points_[lowest_index()].rate;
}

std::optional<double> RangeTest::steepest() const {
  if (points_.empty()) return std::nullopt;
  // The first averages are of few losses. A fall by less than this share of the loss is noise.
  constexpr double kNoise = 0.02;
  const std::size_t half = std::max<std::size_t>(3, points_.size() / 20), begin = 2 * half,
                    end = lowest_index();
  if (begin >= end ||
      points_[begin].smoothed - points_[end].smoothed < kNoise * std::abs(points_[begin].smoothed))
    return std::nullopt;
  std::optional<double> rate;
  double fastest = 0;
  for (std::size_t i = begin; i + half <= end; ++i) {
    const Point &before = points_[i - half], &after = points_[i + half];
    const double fall = (before.smoothed - after.smoothed) / std::log(after.rate / before.rate);
    if (fall <= fastest) continue;
    fastest = fall;
    rate = points_[i].rate;
  }
  return rate;
}

std::string range_table(const RangeTest& test) {
  constexpr std::size_t kRows = 20;
  constexpr double kBar = 40;
  const std::vector<RangeTest::Point>& points = test.points();
  // A diverging end must not make all other bars short.
  double high = 0;
  for (const RangeTest::Point& point : points)
    if (point.rate <= test.lowest()) high = std::max(high, point.smoothed);
  std::string text = fmt::format("{:>10}  {:>9}\n", "lr", "loss");
  const std::size_t each = (points.size() + kRows - 1) / kRows;
  for (std::size_t i = 0; i < points.size(); i += each) {
    const double loss = points[i].smoothed;
    const double share = high > 0 ? std::clamp(loss / high, 0.0, 1.0) : 0;
    text += fmt::format("{:>10.2g}  {:>9}  {}\n", points[i].rate, loss_text(loss),
                        std::isfinite(loss) ? std::string(static_cast<std::size_t>(kBar * share), '#') : "");
  }
  return text;
}

}  // namespace trainer
