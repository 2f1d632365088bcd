#include "cli/reports/chart.h"

#include <catch2/catch.hpp>
#include <limits>

namespace trainer {
namespace {

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

const double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a curve has a gap where its value is not a number", "[cli]") {
  const Curve curve{.name = "train", .points = {{10, 1}, {20, 2}, {30, kNan}, {40, 3}, {50, 4}}};
  const std::string svg = svg_of({.title = "loss", .curves = {curve}});
  const std::size_t path = svg.find(" d=\"M");
  REQUIRE(path != std::string::npos);
  CHECK(count_of(svg.substr(path, svg.find("/>", path) - path), "M") == 2);
  CHECK(svg.find(">step 30<tspan") != std::string::npos);
  CHECK(svg.find(">train nan</tspan>") != std::string::npos);
}

TEST_CASE("whatever the values, all coordinates are finite", "[cli]") {
  const auto values = GENERATE(std::vector<double>{0, 0, 0}, std::vector<double>{0.01, 0.01, 0.01},
                               std::vector<double>{5}, std::vector<double>{1, 1 + 1e-15},
                               std::vector<double>{1e-300, 1e300}, std::vector<double>{-1e300, 1e300},
                               std::vector<double>{kNan, 2}, std::vector<double>{1e12, 1e12 + 1, 1e12 + 2});
  Curve curve{.name = "y"};
  for (const double value : values) curve.points.push_back({static_cast<double>(curve.points.size()), value});
  for (const bool spreads : {false, true}) {
    std::string svg = svg_of({.title = "t", .curves = {curve}, .may_be_logarithmic = spreads});
    CHECK(count_of(svg, "<line class=\"grid\"") > 1);
    CHECK(count_of(svg, "<line class=\"grid\"") < 30);
    CHECK(count_of(svg, "=\"nan") + count_of(svg, "=\"inf") + count_of(svg, "=\"-inf") == 0);
  }
}

TEST_CASE("a chart without a single number is left out", "[cli]") {
  CHECK(svg_of({.title = "loss", .curves = {{.name = "train", .points = {{1, kNan}}}}}).empty());
  CHECK(svg_of({.title = "loss"}).empty());
}

TEST_CASE("fractions are in percent, large numbers are short, and a constant has its own tick", "[cli]") {
  const auto svg = [](double low, double high, bool is_fraction) {
    return svg_of({.title = "t",
                   .curves = {{.name = "y", .points = {{1, low}, {2, high}}}},
                   .is_fraction = is_fraction});
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string accuracy = svg(0.5, 1, true);
  CHECK(has(accuracy, ">100%</text>"));
  CHECK(has(accuracy, ">y 50.00%</tspan>"));
  CHECK(has(svg(0, 1e6, false), ">1M</text>"));
  CHECK(has(svg(0, 5e4, false), ">20k</text>"));
  CHECK(has(svg(0, 1e12, false), ">1e+12</text>"));
  CHECK(has(svg(0.0010364, 0.0010364, false), ">0.00104</text>"));
  CHECK(has(svg(0.0010364, 0.0010364, false), ">0</text>"));
}

TEST_CASE("a mark has a ring around its value, and a curve without values no name", "[cli]") {
  const std::string svg =
      svg_of({.title = "t",
              .curves = {{.name = "a", .points = {{1, kNan}}}, {.name = "b", .points = {{1, 1}, {2, 2}}}},
              .marks = {{.x = 2, .y = 2, .text = "best"}}});
  CHECK(count_of(svg, "class=\"ring\"") == 1);
  CHECK(svg.find(">best</text>") != std::string::npos);
  CHECK(svg.find(">a</span>") == std::string::npos);
  CHECK(svg.find("<span class=\"c1\">b</span>") != std::string::npos);
  CHECK(svg_of({.title = "t", .curves = {{.name = "t", .points = {{1, 1}}}}}).find("<span") ==
        std::string::npos);
}

TEST_CASE("a long name of a curve is cut under the pointer, between its characters", "[cli]") {
  std::string name;
  for (int i = 0; i < 100; ++i) name += "\u00e9";
  const std::string svg = svg_of({.title = "t", .curves = {{.name = name, .points = {{1, 1}, {2, 2}}}}});
  CHECK(count_of(svg, "\u00e9 ...") == 2);
  CHECK(count_of(svg, "\u00e9") == 100 + 2 * 30);
}

TEST_CASE("values over decades are shown by their logarithm, where that was allowed", "[cli]") {
  const Curve curve{.name = "train", .points = {{1, 0.001}, {2, 4}}};
  CHECK(svg_of({.title = "loss", .curves = {curve}, .may_be_logarithmic = true}).find("log scale") !=
        std::string::npos);
  CHECK(svg_of({.title = "loss", .curves = {curve}}).find("log scale") == std::string::npos);
}

TEST_CASE("a thinned curve holds means of neighbours and ends where the curve does", "[cli]") {
  Curve curve;
  for (int i = 1; i <= 7; ++i) curve.points.push_back({static_cast<double>(10 * i), static_cast<double>(i)});
  const Curve thin = thinned(curve, 4);
  REQUIRE(thin.points.size() == 4);
  CHECK(thin.points[0].y == 1.5);
  CHECK(thin.points[0].x == 20);
  CHECK(thin.points[3].y == 7);
  CHECK(thin.points[3].x == 70);
  CHECK(thinned(curve, 7).points.size() == 7);
}

}  // namespace trainer
