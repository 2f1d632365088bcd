#include "models/network/peephole.h"

#include "models/layers/conv.h"
#include "models/layers/max_pool.h"

namespace trainer {

void fuse_relu_backward(Sequence& layers) {
  Layer* before = nullptr;
  for (const Sequence::Entry& entry : layers.entries()) {
    Layer* const layer = entry.layer.get();
    auto* const pool = dynamic_cast<MaxPool*>(layer);
    auto* const conv = dynamic_cast<Conv*>(before);
    if (pool && conv && conv->ends_in_relu() && pool->can_mask_relu()) {
      conv->leave_relu_backward();
      pool->mask_relu();
    }
    if (auto* const composite = dynamic_cast<CompositeLayer*>(layer))
      for (Sequence* const inner : composite->sequences()) fuse_relu_backward(*inner);
    before = layer;
  }
}

}  // namespace trainer
