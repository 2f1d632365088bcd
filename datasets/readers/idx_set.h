#pragma once

#include <string>

#include "datasets/dataset.h"

namespace trainer {

/// The two IDX files of a split.
struct IdxPaths {
  std::string images, labels;
};

/// Opens a set of IDX files, whose images are read later. `test` may be without paths. `classes` 0: as many
/// as the training labels show.
DataSource open_idx_set(const std::string& name, const IdxPaths& train, const IdxPaths& test, int classes);

}  // namespace trainer
