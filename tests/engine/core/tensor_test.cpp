#include "engine/core/tensor.h"

#include <catch2/catch.hpp>
#include <vector>

namespace trainer {

TEST_CASE("rows of a tensor are a view of the same numbers", "[core]") {
  std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  const Tensor tensor(numbers.data(), {3, 2});
  const Tensor rows = tensor.rows(1, 2);
  CHECK(rows.shape() == Shape{2, 2});
  rows[0] = 9;
  CHECK(numbers[2] == 9);
  CHECK(tensor.row_size() == 2);
}

TEST_CASE("a default tensor is empty, and so are its rows", "[core]") {
  CHECK(Tensor().empty());
  CHECK(Tensor().size() == 0);
  CHECK(Tensor(nullptr, {3, 2}).rows(0, 1).empty());
}

}  // namespace trainer
