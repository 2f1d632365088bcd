#include "datasets/loading/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "datasets/fetching/public_set.h"
#include "datasets/loading/input_targets.h"
#include "datasets/loading/missing_data.h"
#include "datasets/subset.h"
#include "engine/config/registry.h"
#include "engine/core/counted.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;
using Readers = Registry<Reader, const ReaderContext&>;

std::string path_of(const Config& config) {
  return config.has("path") ? config.get<std::string>("path") : "";
}

DataSource open_with(const Config& config, const ReaderContext& context, std::string& notice) {
  const auto reader = Readers::make(config.at("dataset"), context);
  std::vector<std::string> looked_for;
  if (!reader->missing(looked_for)) return reader->open();
  if (config.has("fallback")) {
    const auto fallback = Readers::make(config.at("fallback"), context);
    if (!fallback->missing(looked_for)) {
      DataSource source = fallback->open();
      notice = fmt::format("{} not found: {} instead (data.fallback)", config.at("dataset").type(),
                           source.name == "digits" ? "drawn digits" : source.name);
      return source;
    }
  }
  Diagnostic problem = config.diagnostic("dataset", "dataset file not found", "-s data.path=/where/it/is");
  for (const std::string& file : looked_for) problem.notes.push_back("looked for " + file);
  explain_missing(path_of(config), looked_for, problem);
  if (const std::string source = reader->source(); !source.empty())
    problem.notes.push_back("it comes from " + source);
  const std::string dataset = config.at("dataset").type();
  for (const PublicSet& set : public_sets()) {
    const auto is_its_file = [&](const std::string& file) {
      return set.files.size() == 1 &&
             fs::path(file).filename().string().starts_with(set.files.front().name + "[");
    };
    if (set.name == dataset || std::ranges::any_of(looked_for, is_its_file))
      problem.help += ", or trainer fetch " + set.name;
  }
  throw Error(ExitCode::data, {problem});
}

/// A random `share` of `all`, at least one element, and the rest; both in the order of `all`.
struct Choice {
  std::vector<std::int64_t> chosen, others;
};
Choice choose(const std::vector<std::int64_t>& all, double share, const RandomStream& stream) {
  const auto count = static_cast<std::int64_t>(all.size());
  const auto chosen = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(count)));
  std::vector<bool> is_chosen(all.size());
  const auto order = permutation(count, stream);
  for (std::int64_t i = 0; i < chosen; ++i) is_chosen[order[i]] = true;
  Choice choice;
  for (std::size_t i = 0; i < all.size(); ++i)
    (is_chosen[i] ? choice.chosen : choice.others).push_back(all[i]);
  return choice;
}

/// Cuts a text: its beginning is for training, its end for validation.
void cut_text(const Config& config, double fraction, double validation, Data& data) {
  const double border = fraction * (1 - validation);
  data.train = data.samples->subset(0, border, false);
  if (validation > 0) data.validation = data.samples->subset(border, fraction, true);
  for (const auto* part : {&data.train, &data.validation})
    if (*part && (*part)->size() == 0)
      config.fail(data.samples->subset(0, fraction, false)->size() == 0 ? "fraction" : "validation",
                  fmt::format("leaves a part of the text that is shorter than the {} tokens of a sequence",
                              data.samples->sample().size()));
}

/// `fold` of so many samples.
Fold fold_of(const Config& config, std::uint64_t seed, std::int64_t samples) {
  const Config fold = config.at("fold");
  const auto count = fold.get<std::int64_t>("of"), number = fold.get<std::int64_t>("number");
  if (number > count) fold.fail("number", fmt::format("there are folds 1 to {}", count));
  if (count > samples)
    fold.fail("of", fmt::format("{} samples cannot make {} folds", samples, count),
              fmt::format("at most {} folds: each holds out one sample or more", samples));
  return {.number = static_cast<int>(number) - 1, .count = static_cast<int>(count), .seed = seed};
}

/// What `fraction` chooses of `size` samples.
std::vector<std::int64_t> choose_fraction(const Config& config, std::uint64_t seed, std::int64_t size) {
  std::vector<std::int64_t> all(size);
  std::iota(all.begin(), all.end(), 0);
  const double fraction = config.get<double>("fraction");
  return fraction < 1 ? choose(all, fraction, RandomStream(seed, "data.fraction")).chosen : all;
}

/// What `fraction`, `validation` and `fold` choose of `size` samples: those held out, and the others for
/// training. `labels`: their classes, if they have any.
Choice choose_validation(const Config& config, std::uint64_t seed, std::int64_t size,
                         std::span<const std::int32_t> labels) {
  Choice choice{.chosen = {}, .others = choose_fraction(config, seed, size)};
  if (config.has("fold")) {
    FoldParts parts = divide(choice.others, labels, fold_of(config, seed, std::ssize(choice.others)));
    return {.chosen = std::move(parts.held_out), .others = std::move(parts.training)};
  }
  const double validation = config.get<double>("validation");
  if (validation == 0) return choice;
  choice = choose(choice.others, validation, RandomStream(seed, "data.validation"));
  if (!choice.others.empty()) return choice;
  const std::string left = counted(std::ssize(choice.chosen), "sample");
  if (config.get<double>("fraction") < 1)
    config.fail("fraction", "leaves " + left + ", which `validation` holds out", "a larger fraction");
  config.fail("validation", "holds out all of the " + left + ": none is left for training",
              "a smaller share");
}

/// Splits the training samples by `fraction`, and by `validation` or `fold`.
void cut(const Config& config, std::uint64_t seed, Data& data) {
  const double fraction = config.get<double>("fraction"), validation = config.get<double>("validation");
  const bool has_folds = config.has("fold");
  if (has_folds && validation > 0)
    config.fail("fold", "both `fold` and `validation` hold out samples", "-s data.validation=0");
  if (fraction == 1 && validation == 0 && !has_folds) return;
  data.samples = std::move(data.train);
  const Dataset& all = *data.samples;
  if (all.info().vocabulary > 0) {
    if (has_folds)
      config.fail("fold", "a text cannot be divided into folds: its sequences continue each other",
                  "-s data.validation=0.1 holds out its end");
    return cut_text(config, fraction, validation, data);
  }
  if (has_folds) {
    std::vector<std::int64_t> samples = choose_fraction(config, seed, all.size());
    const Fold fold = fold_of(config, seed, std::ssize(samples));
    data.folds = std::make_unique<FoldedSamples>(all, std::move(samples), fold);
    data.train = data.folds->take_training();
    data.validation = data.folds->take_held_out();
    return;
  }
  Choice choice = choose_validation(config, seed, all.size(), {});
  if (validation > 0) data.validation = std::make_unique<Subset>(all, std::move(choice.chosen));
  data.train = std::make_unique<Subset>(all, std::move(choice.others));
}

/// The means and deviations of the config, one per channel.
ChannelStatistics given_statistics(const Config& config, const Shape& sample) {
  ChannelStatistics statistics;
  for (const Config& mean : config.items("mean")) statistics.mean.push_back(mean.value<float>());
  for (const Config& deviation : config.items("deviation"))
    statistics.deviation.push_back(deviation.value<float>());
  for (const auto& [key, values] :
       {std::pair{"mean", &statistics.mean}, std::pair{"deviation", &statistics.deviation}})
    if (std::ssize(*values) != channel_count(sample))
      config.fail(key, fmt::format("{} values for {} channels", values->size(), channel_count(sample)),
                  "one value per channel, in order");
  return statistics;
}

void normalise(const Config& config, Data& data) {
  if (config.is_word("normalize", "none")) return;
  const bool by_samples = config.is_word("normalize", "per_channel");
  for (std::unique_ptr<Dataset>* split : {&data.train, &data.validation, &data.test}) {
    if (!*split) continue;
    auto normalised = std::make_unique<Normalised>(std::move(*split));
    data.normalised.push_back(normalised.get());
    if (!by_samples)
      normalised->use(data.statistics = given_statistics(config.at("normalize"), normalised->sample()));
    if (split == &data.train) data.augmentation.reads_from(*normalised);
    *split = std::move(normalised);
  }
}

void use_inputs_as_targets(Data& data) {
  for (std::unique_ptr<Dataset>* split : {&data.train, &data.validation, &data.test})
    if (*split) *split = std::make_unique<InputTargets>(std::move(*split));
}

void scale_targets(const Config& config, Data& data) {
  if (!config.get<bool>("normalize_targets")) return;
  if (config.get<std::string>("targets") == "input")
    config.fail("normalize_targets", "the targets are the samples", "`normalize: per_channel`");
  if (data.train->classes() > 0)
    config.fail("normalize_targets", "the targets are classes, which have no deviation",
                "`targets: numbers` in the dataset, or without normalize_targets");
  for (std::unique_ptr<Dataset>* split : {&data.train, &data.validation, &data.test}) {
    if (!*split) continue;
    auto scaled = std::make_unique<ScaledTargets>(std::move(*split));
    data.scaled.push_back(scaled.get());
    *split = std::move(scaled);
  }
}

void check_balance(const Config& config, const Dataset& train) {
  if (!config.get<bool>("balance_classes")) return;
  if (train.classes() == 0 || train.positions() > 0)
    config.fail("balance_classes", train.classes() == 0 ? "the targets are values, not classes"
                                                        : "each position of a sample has a class of its own");
  if (config.get<bool>("streams") || !config.get<bool>("shuffle"))
    config.fail("balance_classes",
                "samples are drawn in random order, but `streams` or `shuffle` asks for another",
                "without balance_classes, or with streams: false and shuffle: true");
}

}  // namespace

std::vector<Setting> data_settings() {
  return {
      family("dataset", "a public dataset by its name, or a file format with its files", "dataset"),
      text("path", "directory that holds the files, or a subdirectory with them that has the dataset's name")
          .optional()
          .changeable(),
      family("fallback", "dataset to use if no file of the first one is found", "dataset").optional(),
      real("fraction",
           "share of the training samples to use, chosen at random by the seed; for a text, its beginning")
          .above(0)
          .at_most(1)
          .fallback("1"),
      real("validation",
           "share of the training samples to hold out for validation, chosen at random by the seed; for a "
           "text, its end")
          .at_least(0)
          .below(1)
          .fallback("0"),
      section(
          "fold",
          "hold out one of several equal folds of the training samples for validation, chosen at random by "
          "the seed, with the same share of each class",
          {integer("number", "the fold that is held out, from 1").at_least(1),
           integer("of", "number of folds").at_least(2).at_most(1e6)})
          .optional(),
      section(
          "normalize",
          "per_channel: shift and scale each channel to mean 0 and standard deviation 1 over the training "
          "samples; a map: by the given means and deviations",
          {list_of("mean", "subtracted from each channel", real("", "mean of one channel")),
           list_of("deviation", "divisor of each channel", real("", "deviation of one channel").above(0))})
          .or_word("none")
          .or_word("per_channel")
          .fallback("none"),
      choice("targets",
             "given: the labels or values of the dataset; input: the normalised sample itself (autoencoders)",
             {"given", "input"})
          .fallback("given"),
      boolean("normalize_targets",
              "targets that are values: shift and scale each to mean 0 and standard deviation 1 over the "
              "training samples; predictions and metrics are in their own units")
          .fallback("false"),
      list_of("augment", "random transforms of training samples, new in each epoch, applied in this order",
              family("", "a transform that keeps the label valid", "transform"))
          .fallback("[]"),
      real("mixup",
           "mix each training sample and its target with another one, after `augment`; the shares follow a "
           "beta distribution with this parameter (usually 0.1 to 1); 0: no mixup")
          .at_least(0)
          .at_most(1000)
          .fallback("0"),
      real("cutmix",
           "replace a rectangle of each training image by that of another one, after `augment`; the rest's "
           "share follows a beta distribution with this parameter (usually 1); 0: no cutmix")
          .at_least(0)
          .at_most(1000)
          .fallback("0"),
      boolean("shuffle", "shuffle the training samples anew in each epoch").fallback("true"),
      boolean(
          "balance_classes",
          "draw each class equally often: an epoch repeats samples of rare classes and leaves out some of "
          "frequent ones")
          .fallback("false"),
      boolean("streams",
              "instead of shuffling, each row of a batch continues where the same row of the batch before "
              "ended: for texts and layers with `keep_state`; samples that do not fill a batch are dropped")
          .fallback("false"),
      boolean("drop_last", "drop the last batch of an epoch if it is short").fallback("false"),
  };
}

std::string learn_data(const Config& config) {
  const auto reader = Readers::make(config.at("dataset"), ReaderContext{.path = path_of(config)});
  std::vector<std::string> ignored;
  return reader->missing(ignored) ? "" : reader->learn();
}

DataSource open_source(const Config& config, std::uint64_t seed, const std::string& learned,
                       std::string& notice) {
  const ReaderContext context{.path = path_of(config),
                              .seed = seed,
                              .learned = learned,
                              .training = [&config, seed](std::int64_t size, const auto& labels) {
                                return choose_validation(config, seed, size, labels).others;
                              }};
  return open_with(config, context, notice);
}

Data open_data(const Config& config, std::uint64_t seed, const std::string& learned) {
  Data data;
  DataSource source = open_source(config, seed, learned, data.notice);
  if (!source.notice.empty()) data.notice = std::move(source.notice);
  data.name = source.name;
  data.fingerprint = std::move(source.fingerprint);
  data.form = std::move(source.form);
  data.train = std::move(source.train);
  data.test = std::move(source.test);
  data.sources.push_back(data.train.get());
  if (data.test) data.sources.push_back(data.test.get());
  cut(config, seed, data);
  data.augmentation = Augmentation(config.items("augment"), data.train->sample(), seed);
  if (data.train->positions() > 0 && !config.items("augment").empty())
    config.fail("augment",
                "images with a label per pixel cannot be augmented: the labels would stay in place");
  data.mixing = Mixing({.mixup = config.get<double>("mixup"),
                        .cutmix = config.get<double>("cutmix"),
                        .samples = data.train->size(),
                        .sample = data.train->sample(),
                        .seed = seed});
  const bool cuts = config.get<double>("cutmix") > 0;
  if (data.mixing.is_on() && (data.train->positions() > 0 || data.train->has_lengths()))
    config.fail(cuts ? "cutmix" : "mixup",
                "samples of several lengths, or with a label per position, cannot be mixed");
  if (data.mixing.is_on() && data.train->info().has_weights)
    config.fail(cuts ? "cutmix" : "mixup", "samples that have weights cannot be mixed");
  if (cuts && data.train->sample().rank() != 3)
    config.fail("cutmix", "cutmix requires images, but a sample is " + data.train->sample().text(),
                "`mixup`, which mixes any samples");
  if (data.train->info().vocabulary > 0 && !config.is_word("normalize", "none"))
    config.fail("normalize", "tokens cannot be normalised");
  normalise(config, data);
  if (config.get<std::string>("targets") == "input") {
    if (data.train->info().vocabulary > 0) config.fail("targets", "tokens cannot be targets of values");
    use_inputs_as_targets(data);
  }
  scale_targets(config, data);
  check_balance(config, *data.train);
  return data;
}

std::vector<std::int64_t> count_classes(const Dataset& samples) {
  std::vector<std::int64_t> counts(samples.classes());
  std::vector<std::int32_t> labels(samples.info().labels_per_sample());
  for (std::int64_t sample = 0; sample < samples.size(); ++sample) {
    samples.read_labels({&sample, 1}, labels);
    const std::int64_t own =
        samples.has_lengths() && samples.positions() > 0 ? samples.length(sample) : std::ssize(labels);
    for (std::int64_t i = 0; i < own; ++i) ++counts[labels[i]];
  }
  return counts;
}

}  // namespace trainer
