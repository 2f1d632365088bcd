// A numpy file, read as numbers and as labels.
#include <vector>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/npy_array.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"npy", [](FuzzInput input) {
                          static MemoryFile file;
                          if (input.empty()) return;
                          const bool as_labels = (input[0] & 1) != 0;
                          file.hold(input.subspan(1));
                          NpyArray array(std::make_unique<ByteReader>(file.path()));
                          const auto count = static_cast<std::size_t>(array.shape().size());
                          if (as_labels) {
                            std::vector<std::int32_t> labels(count);
                            array.read_labels(labels, 9);
                            for (const std::int32_t label : labels)
                              expect(label >= 0 && label <= 9, "a label beyond the classes");
                          } else {
                            std::vector<float> numbers(count);
                            array.read(numbers);
                          }
                        }};

}  // namespace
}  // namespace trainer
