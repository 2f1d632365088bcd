#include "engine/core/shape.h"

#include <catch2/catch.hpp>

#include "engine/core/error.h"

namespace trainer {

TEST_CASE("a shape's size is the product of its extents", "[core]") {
  CHECK(Shape{2, 3, 4}.size() == 24);
  CHECK(Shape{}.size() == 1);
  CHECK(Shape{5, 0}.size() == 0);
}

TEST_CASE("a size that overflows 63 bits is an error, not a small number", "[core]") {
  const Shape shape{std::int64_t{1} << 40, std::int64_t{1} << 40};
  CHECK_THROWS_AS(shape.size(), Error);
}

TEST_CASE("a batch's shape is a sample's with the rows in front", "[core]") {
  CHECK(Shape{28, 28, 1}.with_front(128) == Shape{128, 28, 28, 1});
  CHECK(Shape{128, 28, 28, 1}.without_front() == Shape{28, 28, 1});
  CHECK(Shape{4, 5}.with_last(2) == Shape{4, 2});
}

TEST_CASE("maps are written channels first", "[core]") {
  CHECK(channels_first_text(Shape{24, 20, 16}) == "16x24x20");
  CHECK(channels_first_text(Shape{500}) == "500");
  CHECK(Shape{2, 3}.text() == "2x3");
}

TEST_CASE("more than six extents or a negative one are errors", "[core]") {
  CHECK_THROWS_AS((Shape{1, 1, 1, 1, 1, 1, 1}), Error);
  CHECK_THROWS_AS(Shape{-1}, Error);
}

}  // namespace trainer
