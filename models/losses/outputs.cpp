#include "models/losses/outputs.h"

#include <fmt/format.h>

namespace trainer {

void require_output_per_class(const Config& who, const Shape& output, int classes) {
  if (classes == 0) who.fail("", fmt::format("{} wants classes, the data gives numbers", who.type()));
  if (output.size() != classes)
    who.fail("",
             fmt::format("{} wants {} outputs, one for each class; the model gives {}", who.type(), classes,
                         channels_first_text(output)),
             fmt::format("let the last layer be `dense: {}`", classes));
}

}  // namespace trainer
