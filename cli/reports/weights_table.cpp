#include "cli/reports/weights_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "cli/terminal/text.h"
#include "engine/core/escape.h"

namespace trainer {
namespace {

constexpr std::size_t kMostUnused = 100;

using Rows = std::vector<std::vector<std::string>>;

/// "conv1" and "weight" of "conv1.weight"; a name without a dot is a layer's.
struct Name {
  explicit Name(const std::string& whole)
      : layer(whole.substr(0, whole.rfind('.'))),
        tensor(layer.size() < whole.size() ? whole.substr(layer.size() + 1) : "") {}
  std::string layer, tensor;
};

std::string with_shape(const std::string& tensor, const Shape& shape) {
  return tensor + (tensor.empty() ? "" : " ") + shape.text();
}

/// Adds a tensor to the row of its layer, which the first two cells name.
void add(Rows& rows, std::size_t first, const std::string& here, const std::string& there,
         const std::string& tensor) {
  const auto row = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                                [&](const auto& cells) { return cells[0] == here && cells[1] == there; });
  if (row == rows.end())
    rows.push_back({here, there, tensor});
  else
    row->back() += ", " + tensor;
}

}  // namespace

std::string weights_table(const std::string& file, const WeightMatch& match) {
  Rows rows{{"layer", "in the file", "tensors"}};
  for (const WeightMatch::Taken& one : match.taken) {
    const Name here(one.name), there(one.name_in_file);
    const std::string other = here.tensor == there.tensor ? "" : " (" + there.tensor + ")";
    add(rows, 1, here.layer, there.layer, with_shape(here.tensor + other, one.shape));
  }
  const std::size_t end = rows.size();
  for (const TensorEntry& one : match.initial)
    add(rows, end, Name(one.name).layer, "(initial values)", with_shape(Name(one.name).tensor, one.shape));
  const std::size_t shown = std::min(match.unused.size(), kMostUnused);
  for (const TensorEntry& one : std::span(match.unused).first(shown))
    add(rows, end, "(not used)", Name(one.name).layer, with_shape(Name(one.name).tensor, one.shape));
  if (const std::size_t more = match.unused.size() - shown; more > 0)
    rows.push_back({"(not used)", "...", fmt::format("{} more", more)});
  return fmt::format("weights: {}, {} taken, {} not used\n", escaped(file),
                     counted(std::ssize(match.taken), "tensor"), match.unused.size()) +
         table(rows, rows.front().size());
}

}  // namespace trainer
