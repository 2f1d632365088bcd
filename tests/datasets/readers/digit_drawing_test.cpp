#include "datasets/readers/digit_drawing.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "engine/core/random.h"

namespace trainer {
namespace {

using Image = std::array<std::uint8_t, kDigitSize * kDigitSize>;

Image drawn(DigitSplit split, std::int64_t index) {
  Image image;
  draw_digit(split, index, image);
  return image;
}

}  // namespace

TEST_CASE("no two drawings are the same, within a split and between them", "[digits]") {
  std::set<Image> images;
  for (std::int64_t i = 0; i < 2000; ++i) {
    images.insert(drawn(DigitSplit::train, i));
    images.insert(drawn(DigitSplit::test, i));
  }
  CHECK(images.size() == 4000);
}

TEST_CASE("a drawing is a pure function of its split and index", "[digits]") {
  const Image first = drawn(DigitSplit::train, 59999);
  drawn(DigitSplit::test, 3);
  CHECK(drawn(DigitSplit::train, 59999) == first);
}

TEST_CASE("every compiler and machine draws the same digits, to the last bit", "[digits]") {
  std::string all;
  for (const DigitSplit split : {DigitSplit::train, DigitSplit::test})
    for (std::int64_t i = 0; i < 500; ++i)
      for (const std::uint8_t pixel : drawn(split, i)) all.push_back(static_cast<char>(pixel));
  // A drawing that is meant to change needs this number anew, and a new version in the fingerprint.
  CHECK(hash_text(all) == 0xd13f1351572209e3);
}

TEST_CASE("all classes are drawn about equally often", "[digits]") {
  std::array<int, 10> counts{};
  for (std::int64_t i = 0; i < 10000; ++i)
    ++counts.at(static_cast<std::size_t>(drawn_label(DigitSplit::test, i)));
  for (const int count : counts) CHECK((count > 850 && count < 1150));
}

TEST_CASE("a drawing has ink on a dark ground", "[digits]") {
  for (std::int64_t i = 0; i < 1000; ++i) {
    const Image image = drawn(DigitSplit::train, i);
    const auto inked = std::count_if(image.begin(), image.end(), [](std::uint8_t p) { return p > 100; });
    INFO("drawing " << i);
    CHECK(inked >= 10);
    CHECK(inked <= 400);
  }
}

}  // namespace trainer
