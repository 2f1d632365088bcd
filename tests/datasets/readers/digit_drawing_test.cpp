#include "datasets/readers/digit_drawing.h"

#include <array>
#include <catch2/catch.hpp>
#include <numeric>
#include <set>

namespace trainer {
namespace {

using Picture = std::array<std::uint8_t, kDigitSize * kDigitSize>;

Picture drawn(DigitSplit split, std::int64_t index) {
  Picture picture;
  draw_digit(split, index, picture);
  return picture;
}

}  // namespace

TEST_CASE("no two drawings are the same, within a split and between them", "[digits]") {
  std::set<Picture> pictures;
  for (std::int64_t i = 0; i < 2000; ++i) {
    pictures.insert(drawn(DigitSplit::train, i));
    pictures.insert(drawn(DigitSplit::test, i));
  }
  CHECK(pictures.size() == 4000);
}

TEST_CASE("a drawing is a pure function of its split and index", "[digits]") {
  const Picture first = drawn(DigitSplit::train, 59999);
  drawn(DigitSplit::test, 3);
  CHECK(drawn(DigitSplit::train, 59999) == first);
}

TEST_CASE("all classes are drawn about equally often", "[digits]") {
  std::array<int, 10> counts{};
  for (std::int64_t i = 0; i < 10000; ++i)
    ++counts.at(static_cast<std::size_t>(drawn_label(DigitSplit::test, i)));
  for (const int count : counts) CHECK((count > 850 && count < 1150));
}

TEST_CASE("a drawing has ink on a dark ground", "[digits]") {
  for (std::int64_t i = 0; i < 1000; ++i) {
    const Picture picture = drawn(DigitSplit::train, i);
    const auto inked = std::count_if(picture.begin(), picture.end(), [](std::uint8_t p) { return p > 100; });
    INFO("drawing " << i);
    CHECK(inked >= 10);
    CHECK(inked <= 400);
  }
}

}  // namespace trainer
