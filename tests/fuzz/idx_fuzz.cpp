// A set of images and labels: the length of the file of labels as two bytes, that file, and the file of
// images.
#include <algorithm>
#include <vector>

#include "datasets/readers/idx_set.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

void read_all(Dataset& set) {
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(set.stored_bytes()));
  set.fill(memory);
  set.attach(memory);
  std::vector<float> sample(static_cast<std::size_t>(set.sample().size()));
  const std::int64_t last = set.size() - 1;
  set.read({&last, 1}, Tensor(sample.data(), set.sample().with_front(1)));
  for (std::int64_t i = 0; i <= last; ++i) expect(set.label(i) < set.classes(), "a label beyond the classes");
}

const FuzzTarget target{
    "idx", [](FuzzInput input) {
      static MemoryFile images, labels;
      if (input.size() < 2) return;
      const std::size_t claimed = input[0] | input[1] << 8;
      input = input.subspan(2);
      const std::size_t length = std::min(claimed, input.size());
      labels.hold(input.first(length));
      images.hold(input.subspan(length));
      const DataSource source = open_idx_set("idx", {images.path(), labels.path()}, {}, 0);
      read_all(*source.train);
    }};

}  // namespace
}  // namespace trainer
