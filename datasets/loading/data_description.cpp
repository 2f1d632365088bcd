#include "datasets/loading/data_description.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "datasets/loading/input_targets.h"
#include "datasets/readers/tokenizers.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Samples of which only the info is known.
class AbsentSamples final : public Dataset {
 public:
  AbsentSamples(const DatasetInfo& info, std::unique_ptr<Tokenizer> tokenizer)
      : Dataset(with_tokenizer(info, tokenizer.get())), tokenizer_(std::move(tokenizer)) {}
  void read(std::span<const std::int64_t>, Tensor) const override {
    throw std::logic_error("a sample was read from data that is absent");
  }
  void read_labels(std::span<const std::int64_t>, std::span<std::int32_t>) const override {
    throw Error(ExitCode::usage, "the run does not keep how often each class occurs in its training data",
                "`class_weights` as a list, or -s data.path=DIR with the training data");
  }

 private:
  static DatasetInfo with_tokenizer(DatasetInfo info, const Tokenizer* tokenizer) {
    info.tokenizer = tokenizer;
    return info;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

std::unique_ptr<Dataset> absent_split(const DataDescription& description, std::int64_t size,
                                      const std::string& place) {
  DatasetInfo info = description.info;
  info.size = size;
  std::unique_ptr<Tokenizer> tokenizer;
  if (!description.tokenizer.empty()) {
    tokenizer = make_tokenizer(description.tokenizer, description.tokens, place);
    if (tokenizer->vocabulary() != info.vocabulary)
      throw Error(ExitCode::data, {Diagnostic{.what = fmt::format("the tokenizer has {} tokens, the model {}",
                                                                  tokenizer->vocabulary(), info.vocabulary),
                                              .place = place}});
  }
  return std::make_unique<AbsentSamples>(info, std::move(tokenizer));
}

/// Error(data) if given samples are of another kind than those of training.
void check_kind(const Dataset& given, const DatasetInfo& trained, const std::string& place) {
  const auto fail = [&](const std::string& what, const std::string& note) {
    throw Error(ExitCode::data, {Diagnostic{.what = what, .place = place, .notes = {note}}});
  };
  if (given.sample() != trained.sample)
    fail("samples differ in shape from those of training",
         fmt::format("{} here, {} in training", channels_first_text(given.sample()),
                     channels_first_text(trained.sample)));
  if (given.classes() == 0 && given.target() != trained.target)
    fail("targets differ in shape from those of training",
         fmt::format("{} here, {} in training", given.target().text(), trained.target.text()));
  if (given.classes() > trained.classes || given.positions() != trained.positions)
    fail("labels differ from those of training",
         fmt::format("{} classes here, {} in training", given.classes(), trained.classes));
}

bool differ(const ChannelStatistics& a, const ChannelStatistics& b) {
  // Sums depend on the processor: by a part of a deviation, or of the mean of a constant channel.
  constexpr double kOfDeviation = 1e-3, kOfMean = 1e-6;
  if (a.mean.size() != b.mean.size()) return false;  // one has none: streamed, or of an earlier program
  for (std::size_t i = 0; i < a.mean.size(); ++i) {
    const double mean = a.mean[i], deviation = a.deviation[i];
    const double limit = kOfDeviation * deviation + kOfMean * std::abs(mean);
    if (std::abs(mean - b.mean[i]) > limit || std::abs(deviation - b.deviation[i]) > limit) return true;
  }
  return false;
}

}  // namespace

DataDescription describe(const Data& data) {
  DataDescription description{.name = data.name,
                              .info = data.train->info(),
                              .train = data.train->size(),
                              .validation = data.validation ? data.validation->size() : 0,
                              .test = data.test ? data.test->size() : 0,
                              .fingerprint = data.fingerprint,
                              .checksum = data.checksum,
                              .form = data.form,
                              .statistics = data.statistics,
                              .target_statistics = data.target_statistics,
                              .class_counts = data.class_counts};
  description.info.is_streamed = false;
  if (const Tokenizer* tokenizer = std::exchange(description.info.tokenizer, nullptr)) {
    description.tokenizer = tokenizer->kind();
    description.tokens = tokenizer->definition();
  }
  return description;
}

Data absent_data(const DataDescription& description, const std::string& place) {
  Data data;
  data.name = description.name;
  data.fingerprint = description.fingerprint;
  data.form = description.form;
  data.statistics = description.statistics;
  data.target_statistics = description.target_statistics;
  data.class_counts = description.class_counts;
  data.train = absent_split(description, description.train, place);
  if (!data.statistics.mean.empty()) {
    auto normalised = std::make_unique<Normalised>(std::move(data.train));
    normalised->use(data.statistics);
    data.normalised.push_back(normalised.get());
    data.train = std::move(normalised);
  }
  if (description.validation > 0) data.validation = absent_split(description, description.validation, place);
  if (description.test > 0) data.test = absent_split(description, description.test, place);
  return data;
}

void use_statistics(const DataDescription& description, Data& data) {
  if (!description.statistics.mean.empty()) {
    for (Normalised* split : data.normalised) split->use(description.statistics);
    if (!data.normalised.empty()) data.statistics = description.statistics;
  }
  if (!data.scaled.empty()) data.target_statistics = description.target_statistics;
}

bool has_other_samples(const DataDescription& description, const Data& data) {
  const bool knows_both = description.checksum != 0 && data.checksum != 0;
  return (knows_both && description.checksum != data.checksum) ||
         differ(description.statistics, data.statistics) ||
         differ(description.target_statistics, data.target_statistics);
}

void add_given_samples(const Config& data, const std::vector<std::string>& files,
                       const DataDescription& description, Data& absent) {
  const Config config = data.at("dataset");
  const auto reader = Registry<Reader, const ReaderContext&>::make(config, ReaderContext{});
  DatasetInfo trained = description.info;
  trained.tokenizer = absent.train->info().tokenizer;
  // The labels of the files do not matter where each sample is its own target.
  const bool has_own_targets = data.get<std::string>("targets") == "input";
  std::unique_ptr<Dataset> given =
      reader->open_given({.files = files, .trained = trained, .form = description.form});
  if (!given)
    throw Error(ExitCode::usage, fmt::format("--data cannot read samples of {} by themselves", config.type()),
                "-s data.path=DIR, with all files of the set");
  if (has_own_targets) {
    trained.classes = given->classes();
    trained.target = given->target();
    trained.positions = given->positions();
  }
  check_kind(*given, trained, files.front());
  absent.sources.push_back(given.get());
  if (!description.statistics.mean.empty()) {
    auto normalised = std::make_unique<Normalised>(std::move(given));
    normalised->use(description.statistics);
    given = std::move(normalised);
  }
  if (has_own_targets) given = std::make_unique<InputTargets>(std::move(given));
  if (!description.target_statistics.mean.empty()) {
    auto scaled = std::make_unique<ScaledTargets>(std::move(given));
    scaled->use(description.target_statistics);
    given = std::move(scaled);
  }
  absent.test = std::move(given);
}

std::string fingerprint_text(const Data& data) {
  std::string text = data.name + ", " + std::to_string(data.train->size()) + " samples";
  for (const std::string& line : data.fingerprint) text += "; " + line;
  return text;
}

}  // namespace trainer
