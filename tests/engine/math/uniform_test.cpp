#include "engine/math/uniform.h"

#include <catch2/catch.hpp>
#include <vector>

namespace trainer {

TEST_CASE("many uniform values at a time are those of the stream, wherever they begin and end", "[uniform]") {
  const RandomStream stream(7, "dropout", (std::uint64_t{5} << 32) + 3);
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{5}, (std::uint64_t{1} << 34) - 70})
    for (const std::size_t count : {0, 1, 2, 3, 4, 7, 37, 128, 131, 1000}) {
      std::vector<float> values(count + 1, -1.0f), expected(count);
      fill_uniform(stream, first, std::span(values).first(count));
      stream.fill_uniform(first, expected);
      CHECK(values.back() == -1);
      values.pop_back();
      CHECK(values == expected);
    }
}

}  // namespace trainer
