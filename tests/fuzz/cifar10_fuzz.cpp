// One batch of CIFAR-10.
#include "tests/fuzz/cifar_folder.h"

namespace trainer {
namespace {

const FuzzTarget target{"cifar10", [](FuzzInput input) {
                          static CifarFolder folder("cifar10", {"data_batch_1.bin"});
                          folder.read(input);
                        }};

}  // namespace
}  // namespace trainer
