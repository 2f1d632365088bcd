#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "datasets/folds.h"
#include "datasets/loading/augmentation.h"
#include "datasets/loading/mixing.h"
#include "datasets/loading/scaled_targets.h"
#include "datasets/transforms/normalised.h"
#include "engine/config/setting.h"
#include "engine/core/memory_ledger.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// The data of a run: the dataset of the `data:` section or its fallback, cut by `fraction` and `validation`,
/// normalised.
struct Data {
  std::string name;  ///< "mnist", "digits"
  /// "mnist not found: drawn digits instead (data.fallback)", or that of DataSource; else empty.
  std::string notice;
  /// The dataset that train and validation are cut from; null if train is whole.
  std::unique_ptr<Dataset> samples;
  std::unique_ptr<Dataset> train, validation, test;  ///< validation and test may be null
  Augmentation augmentation;                         ///< of training samples
  Mixing mixing;                                     ///< of training samples and targets, after augmentation
  std::vector<std::string> fingerprint;              ///< of DataSource
  InputForm form;                                    ///< of DataSource
  /// By which samples are normalised: given, or known after load_samples(); empty: they are not.
  ChannelStatistics statistics;
  /// By which targets are scaled, known after load_samples(); empty: they are not.
  ChannelStatistics target_statistics;
  /// Of the samples in memory, known after load_samples(); 0: none are in memory, or the machine is
  /// big-endian.
  std::uint64_t checksum = 0;
  /// Training labels of each class; empty unless a loss requires them.
  std::vector<std::int64_t> class_counts;

  // For load_samples():
  std::vector<Dataset*> sources;         ///< the datasets that readers opened
  std::unique_ptr<FoldedSamples> folds;  ///< null unless data.fold is given
  std::unique_ptr<SharedMemory> memory;  ///< of their samples
  std::unique_ptr<CountedPages> counted;
  std::vector<Normalised*> normalised;  ///< splits that are; train first
  std::vector<ScaledTargets*> scaled;   ///< splits whose targets are; train first
};

/// The keys of the `data:` section.
std::vector<Setting> data_settings();

/// Opens the data of a `data:` section; reads headers, no samples. Error(data) if a file is missing or bad,
/// Error(usage) if a setting does not fit the dataset. `learned`: what learn_data() gave on one rank for all;
/// empty: it is learned here.
Data open_data(const Config& config, std::uint64_t seed, const std::string& learned = "");

/// The whole dataset of a `data:` section or its fallback, as its reader gives it; samples are not in memory
/// yet. `notice`: of a fallback. Error(data) as open_data().
DataSource open_source(const Config& config, std::uint64_t seed, const std::string& learned,
                       std::string& notice);

/// What open_data() learns of the files of a `data:` section before any sample is read, such as a vocabulary.
/// It takes long, and is empty for most data.
std::string learn_data(const Config& config);

/// The labels of each class. Reads all labels of the samples.
std::vector<std::int64_t> count_classes(const Dataset& samples);

/// Reads the samples into memory: once per host if its ranks can share memory. Collective over `host`, whose
/// ranks have opened the same data. If a file is bad, all ranks throw, the reading one with the reason.
void load_samples(Data& data, Communicator& host);

}  // namespace trainer
