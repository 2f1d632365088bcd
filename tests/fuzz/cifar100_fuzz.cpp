// The training samples of CIFAR-100: the first byte chooses the labels.
#include "tests/fuzz/cifar_folder.h"

namespace trainer {
namespace {

const FuzzTarget target{"cifar100", [](FuzzInput input) {
                          static CifarFolder fine("cifar100", {"train.bin", "test.bin"}),
                              coarse("cifar100: coarse", {"train.bin", "test.bin"});
                          if (input.empty()) return;
                          ((input[0] & 1) != 0 ? coarse : fine).read(input.subspan(1));
                        }};

}  // namespace
}  // namespace trainer
