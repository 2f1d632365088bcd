#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/loading/data.h"

namespace trainer {

/// What a trained model must know of its data to be used without them. Checkpoints keep it.
struct DataDescription {
  std::string name;  ///< "mnist", "csv"
  /// Of training samples. The tokenizer is null: `tokenizer` and `tokens` make it.
  DatasetInfo info;
  std::string tokenizer{}, tokens{};                 ///< Tokenizer::kind() and definition(); empty: no text
  std::int64_t train = 0, validation = 0, test = 0;  ///< samples
  std::vector<std::string> fingerprint{};            ///< of the files
  std::uint64_t checksum = 0;                        ///< of Data; 0: unknown
  InputForm form{};
  ChannelStatistics statistics{};            ///< by which samples are normalised; empty: they are not
  ChannelStatistics target_statistics{};     ///< by which targets are scaled; empty: they are not
  std::vector<std::int64_t> class_counts{};  ///< of Data
};

/// After load_samples(), if the data is normalised by its own statistics.
DataDescription describe(const Data& data);

/// The data that a description is of, without its samples: reading one is a logic_error. Error(data) with
/// `place` if its tokenizer cannot be made.
Data absent_data(const DataDescription& description, const std::string& place);

/// Normalises the samples of `data`, and scales its targets, by the statistics of the description in the
/// place of its own. Before load_samples().
void use_statistics(const DataDescription& description, Data& data);

/// True if the samples of `data` have another checksum than those of the description, or other means or
/// deviations, beyond rounding. After load_samples().
bool has_other_samples(const DataDescription& description, const Data& data);

/// Adds labelled samples of other files as the test split of absent_data(), normalised like those of
/// training. `data` is the `data:` section of the run. Error(usage) if its format cannot be read alone,
/// Error(data) if a file is missing or bad, or does not fit the description.
void add_given_samples(const Config& data, const std::vector<std::string>& files,
                       const DataDescription& description, Data& absent);

/// Names and sizes of the files and the number of training samples: a run that resumes requires the same.
std::string fingerprint_text(const Data& data);

}  // namespace trainer
