#include "models/huggingface/form_layers.h"

namespace trainer {

std::vector<Sequence*> inner_sequences(const Sequence::Entry& entry) {
  auto* const composite = dynamic_cast<CompositeLayer*>(entry.layer.get());
  return composite ? composite->sequences() : std::vector<Sequence*>{};
}

std::vector<const Sequence::Entry*> computing_layers(const Sequence& layers) {
  std::vector<const Sequence::Entry*> result;
  for (const Sequence::Entry& entry : layers.entries()) {
    if (entry.type == "recompute") {
      for (const Sequence* const inner : inner_sequences(entry)) {
        const std::vector<const Sequence::Entry*> more = computing_layers(*inner);
        result.insert(result.end(), more.begin(), more.end());
      }
    } else if (entry.type != "exchange" && entry.type != "bias" && entry.type != "dropout") {
      result.push_back(&entry);
    }
  }
  return result;
}

}  // namespace trainer
