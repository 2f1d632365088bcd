#include "datasets/dataset.h"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/core/counted.h"

namespace trainer {

void Dataset::read_labels(std::span<const std::int64_t>, std::span<std::int32_t>) const {
  throw std::logic_error("labels were read from a dataset whose targets are values");
}

std::int32_t Dataset::label(std::int64_t index) const {
  if (info_.positions > 0) throw std::logic_error("a sample has a label for each position");
  std::int32_t label = 0;
  read_labels({&index, 1}, {&label, 1});
  return label;
}

void Dataset::read_targets(std::span<const std::int64_t>, Tensor) const {
  throw std::logic_error("values were read from a dataset whose targets are classes");
}

void Dataset::read_positions(std::int64_t, std::span<std::int32_t>) const {
  throw std::logic_error("positions were read from a dataset whose samples are whole");
}

std::unique_ptr<Dataset> Dataset::subset(double, double, bool) const { return nullptr; }

void GivenFiles::require(const std::vector<std::string>& what) const {
  if (files.size() == what.size()) return;
  std::string names, flags;
  for (const std::string& name : what) {
    names += (names.empty() ? "" : ", then ") + name;
    flags += (flags.empty() ? "--data " : " --data ") + name;
  }
  throw Error(ExitCode::usage,
              fmt::format("--data takes {} of this format, {} given: {}", counted(std::ssize(what), "file"),
                          files.size(), names),
              flags);
}

std::unique_ptr<Dataset> Reader::open_given(const GivenFiles&) { return nullptr; }

}  // namespace trainer
