#include "models/losses/outputs.h"

#include <fmt/format.h>

namespace trainer {

void require_output_per_class(const Config& member, const Shape& output, int classes) {
  if (classes == 0)
    member.fail("", fmt::format("{} requires classes, the data gives values", member.type()),
                "for values: the loss `mse` or `huber`, the metrics `mae` and `r2`");
  if (output.size() != classes)
    member.fail("",
                fmt::format("{} requires {} outputs, one for each class; the model gives {}", member.type(),
                            classes, channels_first_text(output)),
                fmt::format("make the last layer `dense: {}`", classes));
}

}  // namespace trainer
