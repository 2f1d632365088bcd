// One layer (a residual holds others), as far as a network is built before any memory is taken for it.
#include "engine/config/config_tree.h"
#include "models/network/network.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"layer", [](FuzzInput input) {
                          ConfigTree tree = ConfigTree::member("layer", text_of(input));
                          tree.define("classes", "10");
                          tree.define("vocab", "");
                          // Also so many rows that of an activation as large as the input only one fits.
                          for (const std::int64_t batch : {std::int64_t{4}, std::int64_t{1} << 34}) {
                            const Network network({tree.root()}, Shape{16, 16, 3}, {.batch = batch});
                            expect(network.worker_bytes() >= 0, "a negative amount of memory");
                            expect(network.layers().flops() >= 0, "a negative amount of work");
                          }
                        }};

}  // namespace
}  // namespace trainer
