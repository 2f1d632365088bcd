// A file of weights.
#include <utility>

#include "models/formats/safetensors.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"safetensors", [](FuzzInput input) {
                          static MemoryFile file;
                          file.hold(input);
                          std::size_t bytes = 0;
                          for (const NamedTensor& tensor : read_safetensors(file.path()).tensors) {
                            expect(std::cmp_equal(tensor.values.size(), tensor.shape.size()),
                                   "a tensor has another size than its shape");
                            bytes += tensor.values.size() * sizeof(std::uint16_t);
                          }
                          expect(bytes < input.size(), "more numbers than the file has bytes");
                        }};

}  // namespace
}  // namespace trainer
