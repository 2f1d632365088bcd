#pragma once

#include <string>

#include "datasets/dataset.h"

namespace trainer {

/// The two IDX files of a split.
struct IdxPaths {
  std::string images, labels;
};

/// Opens a dataset of IDX files; images are read later. `test` may have empty paths. `classes` 0: the largest
/// training label + 1.
DataSource open_idx_set(const std::string& name, const IdxPaths& train, const IdxPaths& test, int classes);

/// Opens other images and labels than those of the set, of as many classes.
std::unique_ptr<Dataset> open_given_idx(const GivenFiles& given);

}  // namespace trainer
