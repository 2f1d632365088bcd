#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/augmentation.h"
#include "datasets/dataset.h"
#include "engine/config/setting.h"

namespace trainer {

/// A run's data, opened as `data:` says: the set or its fallback, cut by `fraction` and `validation`,
/// normalised.
struct Data {
  std::string name;  ///< "mnist", "digits"
  std::string
      notice;  ///< "mnist not found: training on drawn digits instead (data.fallback)"; empty otherwise
  /// What train and validation are parts of; null when train is whole. Outlives them.
  std::unique_ptr<Dataset> samples;
  std::unique_ptr<Dataset> train, validation, test;  ///< the last two may be null
  Augmentation augmentation;                         ///< for samples of train while they train
  std::vector<std::string> fingerprint;
};

/// The keys of the `data:` section.
std::vector<Setting> data_settings();

/// `config` is the `data:` section. Throws Error(data) when a file is missing or bad, Error(usage) when a
/// setting does not fit the set.
Data open_data(const Config& config, std::uint64_t seed, bool headers_only = false);

}  // namespace trainer
