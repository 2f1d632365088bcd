#include "models/losses/outputs.h"

#include <fmt/format.h>

namespace trainer {

void require_output_per_class(const Config& who, const Shape& output, int classes) {
  if (classes == 0) who.fail("", fmt::format("{} requires classes, the data gives values", who.type()));
  if (output.size() != classes)
    who.fail("",
             fmt::format("{} requires {} outputs, one for each class; the model gives {}", who.type(),
                         classes, channels_first_text(output)),
             fmt::format("make the last layer `dense: {}`", classes));
}

}  // namespace trainer
