#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/loading/augmentation.h"
#include "datasets/loading/mixup.h"
#include "datasets/transforms/normalised.h"
#include "engine/config/setting.h"
#include "engine/parallel/communicator.h"

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
  Mixup mixup;                                       ///< then they are mixed, as their targets are
  std::vector<std::string> fingerprint;

  // For load_samples(): the sets as they were read, where their samples lie, and the splits to be normalised.
  std::vector<Dataset*> sources;
  std::unique_ptr<SharedMemory> memory;
  std::vector<Normalised*> normalised;  ///< that of train first
};

/// The keys of the `data:` section.
std::vector<Setting> data_settings();

/// `config` is the `data:` section. Throws Error(data) when a file is missing or bad, Error(usage) when a
/// setting does not fit the set. Reads headers, no samples.
Data open_data(const Config& config, std::uint64_t seed);

/// Puts the samples into memory, from which they can then be read: once a host, where it has room to share.
/// Collective over `host`, whose ranks have opened the same data. When a file is bad, all of them throw, the
/// first with the reason.
void load_samples(Data& data, Communicator& host);

}  // namespace trainer
