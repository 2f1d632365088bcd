#include "models/formats/layout.h"

#include <catch2/catch.hpp>
#include <numeric>

namespace trainer {

TEST_CASE("dense weights lie (out, in) in files", "[export]") {
  const std::vector<float> memory{1, 2, 3, 4, 5, 6};  // (in 2, out 3)
  CHECK(file_shape(FileLayout::dense, {2, 3}) == Shape{3, 2});
  CHECK(to_file_layout(FileLayout::dense, {2, 3}, memory) == std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("convolution weights lie (out, in, kernel_h, kernel_w) in files", "[export]") {
  const Shape shape{1, 2, 2, 2};  // (kernel_h, kernel_w, in, out)
  const std::vector<float> memory{0,   1,   10,  11,
                                  100, 101, 110, 111};  // kernel_w in hundreds, in in tens, out in ones
  CHECK(file_shape(FileLayout::convolution, shape) == Shape{2, 2, 1, 2});
  CHECK(to_file_layout(FileLayout::convolution, shape, memory) ==
        std::vector<float>{0, 100, 10, 110, 1, 101, 11, 111});
}

TEST_CASE("written values are read back unchanged", "[export]") {
  const auto [layout, shape] =
      GENERATE(table<FileLayout, Shape>({{FileLayout::as_in_memory, Shape{7}},
                                         {FileLayout::dense, Shape{5, 3}},
                                         {FileLayout::convolution, Shape{3, 2, 4, 5}}}));
  std::vector<float> memory(static_cast<std::size_t>(shape.size()));
  std::iota(memory.begin(), memory.end(), 0.0f);
  CHECK(to_memory_layout(layout, shape, to_file_layout(layout, shape, memory)) == memory);
}

}  // namespace trainer
