#include "datasets/loading/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>

#include "datasets/loading/input_targets.h"
#include "datasets/subset.h"
#include "engine/config/registry.h"
#include "engine/core/random.h"
#include "engine/parallel/wait_for_all.h"

namespace trainer {
namespace {

using Readers = Registry<Reader, const ReaderContext&>;

DataSource open_source(const Config& config, const ReaderContext& context, std::string& notice) {
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
  if (const std::string source = reader->source(); !source.empty())
    problem.notes.push_back("it comes from " + source);
  throw Error(ExitCode::data, {problem});
}

/// `share` of `all`, at least one of them, chosen by the seed; in the order they had.
struct Choice {
  std::vector<std::int64_t> chosen, others;
};
Choice choose(const std::vector<std::int64_t>& all, double share, const RandomStream& stream) {
  const auto count = static_cast<std::int64_t>(all.size());
  const auto wanted = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(count)));
  std::vector<bool> is_chosen(all.size());
  const auto order = permutation(count, stream);
  for (std::int64_t i = 0; i < wanted; ++i)
    is_chosen[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
  Choice choice;
  for (std::size_t i = 0; i < all.size(); ++i)
    (is_chosen[i] ? choice.chosen : choice.others).push_back(all[i]);
  return choice;
}

/// Cuts a text: its first part trains, its end validates.
void cut_text(const Config& config, double fraction, double validation, Data& data) {
  const double border = fraction * (1 - validation);
  data.train = data.samples->stretch(0, border, false);
  if (validation > 0) data.validation = data.samples->stretch(border, fraction, true);
  for (const auto* part : {&data.train, &data.validation})
    if (*part && (*part)->size() == 0)
      config.fail(validation > 0 ? "validation" : "fraction",
                  fmt::format("leaves a part of the text that is shorter than the {} tokens of a sequence",
                              data.samples->sample().size()));
}

/// Cuts the training samples by `fraction` and `validation`.
void cut(const Config& config, std::uint64_t seed, Data& data) {
  const double fraction = config.get<double>("fraction"), validation = config.get<double>("validation");
  if (fraction == 1 && validation == 0) return;
  data.samples = std::move(data.train);
  if (data.samples->info().vocabulary > 0) return cut_text(config, fraction, validation, data);
  std::vector<std::int64_t> training(static_cast<std::size_t>(data.samples->size()));
  std::iota(training.begin(), training.end(), 0);
  if (fraction < 1) training = choose(training, fraction, RandomStream(seed, "data.fraction")).chosen;
  if (validation > 0) {
    Choice choice = choose(training, validation, RandomStream(seed, "data.validation"));
    if (choice.others.empty())
      config.fail("validation", fmt::format("leaves nothing of {} samples to train on", training.size()));
    data.validation = std::make_unique<Subset>(*data.samples, std::move(choice.chosen));
    training = std::move(choice.others);
  }
  data.train = std::make_unique<Subset>(*data.samples, std::move(training));
}

/// Means and deviations that the user gave; one for each channel of a sample.
ChannelStatistics given_statistics(const Config& config, const Shape& sample) {
  ChannelStatistics statistics;
  for (const Config& number : config.items("mean")) statistics.mean.push_back(number.value<float>());
  for (const Config& number : config.items("deviation"))
    statistics.deviation.push_back(number.value<float>());
  for (const auto& [key, numbers] :
       {std::pair{"mean", &statistics.mean}, std::pair{"deviation", &statistics.deviation}})
    if (std::ssize(*numbers) != channel_count(sample))
      config.fail(key, fmt::format("{} numbers for {} channels", numbers->size(), channel_count(sample)),
                  "one for each channel, in their order");
  return statistics;
}

void normalise(const Config& config, Data& data) {
  if (config.is_word("normalize", "none")) return;
  const bool by_samples = config.is_word("normalize", "per_channel");
  for (std::unique_ptr<Dataset>* split : {&data.train, &data.validation, &data.test}) {
    if (!*split) continue;
    auto normalised = std::make_unique<Normalised>(std::move(*split));
    if (by_samples)
      data.normalised.push_back(normalised.get());
    else
      normalised->use(given_statistics(config.at("normalize"), normalised->sample()));
    if (split == &data.train) data.augmentation.reads_from(*normalised);
    *split = std::move(normalised);
  }
}

void give_inputs_as_targets(Data& data) {
  for (std::unique_ptr<Dataset>* split : {&data.train, &data.validation, &data.test})
    if (*split) *split = std::make_unique<InputTargets>(std::move(*split));
}

/// How the memory of a run's samples is cut: the sources, then mean and deviation of each channel.
class Storage {
 public:
  explicit Storage(const Data& data) : data_(data) {
    for (const Dataset* source : data.sources) bytes_ += rounded(source->stored_bytes());
    statistics_ = bytes_;
    if (!data.normalised.empty()) channels_ = channel_count(data.train->sample());
    bytes_ += rounded(2 * channels_ * static_cast<std::int64_t>(sizeof(float)));
  }

  std::int64_t bytes() const { return bytes_; }

  void fill(std::span<std::byte> memory) const {
    std::size_t at = 0;
    for (Dataset* source : data_.sources) {
      const auto size = static_cast<std::size_t>(source->stored_bytes());
      source->fill({reinterpret_cast<std::uint8_t*>(memory.data() + at), size});
      at += static_cast<std::size_t>(rounded(source->stored_bytes()));
    }
    if (channels_ == 0) return;
    attach_sources(memory);
    const ChannelStatistics statistics = channel_statistics(data_.normalised.front()->raw());
    auto* const numbers = statistics_in(memory);
    std::ranges::copy(statistics.mean, numbers);
    std::ranges::copy(statistics.deviation, numbers + channels_);
  }

  void attach(std::span<std::byte> memory) const {
    attach_sources(memory);
    if (channels_ == 0) return;
    const float* const numbers = statistics_in(memory);
    const ChannelStatistics statistics{{numbers, numbers + channels_},
                                       {numbers + channels_, numbers + 2 * channels_}};
    for (Normalised* split : data_.normalised) split->use(statistics);
  }

 private:
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
  float* statistics_in(std::span<std::byte> memory) const {
    return reinterpret_cast<float*>(memory.data() + statistics_);
  }
  void attach_sources(std::span<std::byte> memory) const {
    std::size_t at = 0;
    for (Dataset* source : data_.sources) {
      const auto size = static_cast<std::size_t>(source->stored_bytes());
      source->attach({reinterpret_cast<std::uint8_t*>(memory.data() + at), size});
      at += static_cast<std::size_t>(rounded(source->stored_bytes()));
    }
  }

  const Data& data_;
  std::int64_t bytes_ = 0, statistics_ = 0, channels_ = 0;
};

}  // namespace

std::vector<Setting> data_settings() {
  return {
      family("dataset", "a set known by name, or a format with its files", "dataset"),
      text("path", "directory of the set's files, or of their subdirectory named like the set")
          .optional()
          .changeable(),
      family("fallback", "what to train on when no file of the data set is found", "dataset").optional(),
      real("fraction", "share of the training samples to use, chosen by the seed; of a text its beginning")
          .above(0)
          .at_most(1)
          .fallback("1"),
      real("validation",
           "share of the training samples set apart for validation, chosen by the seed; of a text its end")
          .at_least(0)
          .below(1)
          .fallback("0"),
      section(
          "normalize",
          "per_channel: shift and scale each channel to mean 0, deviation 1 over the training samples; or "
          "by means and deviations that are given",
          {list_of("mean", "what is taken from each channel", real("", "a channel's")),
           list_of("deviation", "what each channel is then divided by", real("", "a channel's").above(0))})
          .or_word("none")
          .or_word("per_channel")
          .fallback("none"),
      choice("targets", "what a model learns to give: what the set says, or the normalised sample itself",
             {"given", "input"})
          .fallback("given"),
      list_of("augment", "random changes of training samples, new in each epoch, in this order",
              family("", "a change that leaves the label true", "transform"))
          .fallback("[]"),
      real("mixup",
           "each training sample is mixed with another one, after `augment`, and their targets with them, by "
           "shares from a beta distribution with this parameter (usually 0.1 to 1); 0: none")
          .at_least(0)
          .at_most(1000)
          .fallback("0"),
      boolean("shuffle", "a new order of the training samples in every epoch").fallback("true"),
      boolean(
          "streams",
          "instead of shuffling, each row of a batch goes on where it ended in the batch before: for texts "
          "and layers with `keep_state`; what does not fill a batch is left out")
          .fallback("false"),
      boolean("drop_last", "leave out the batch at the end of an epoch that would be short")
          .fallback("false"),
  };
}

Data open_data(const Config& config, std::uint64_t seed) {
  const ReaderContext context{.path = config.has("path") ? config.get<std::string>("path") : "",
                              .seed = seed};
  Data data;
  DataSource source = open_source(config, context, data.notice);
  data.name = source.name;
  data.fingerprint = std::move(source.fingerprint);
  data.train = std::move(source.train);
  data.test = std::move(source.test);
  data.sources.push_back(data.train.get());
  if (data.test) data.sources.push_back(data.test.get());
  cut(config, seed, data);
  data.augmentation = Augmentation(config.items("augment"), data.train->sample(), seed);
  if (data.train->positions() > 0 && !config.items("augment").empty())
    config.fail("augment", "images whose pixels have labels are not changed: the labels would stay");
  data.mixup = Mixup(config.get<double>("mixup"), data.train->size(), seed);
  if (data.mixup.is_on() && (data.train->positions() > 0 || data.train->has_lengths()))
    config.fail(
        "mixup",
        "samples of several lengths, or with a label at each position, are not mixed, only whole ones are");
  if (data.train->info().vocabulary > 0 && !config.is_word("normalize", "none"))
    config.fail("normalize", "tokens are not normalised, only numbers are");
  normalise(config, data);
  if (config.get<std::string>("targets") == "input") {
    if (data.train->info().vocabulary > 0)
      config.fail("targets", "tokens are no numbers that a model could give back");
    give_inputs_as_targets(data);
  }
  return data;
}

void load_samples(Data& data, Communicator& host) {
  const Storage storage(data);
  data.memory = host.shared(storage.bytes());
  const bool is_shared = data.memory != nullptr;
  std::exception_ptr problem;
  const auto read = [&] {
    if (!is_shared) data.memory = solo()->shared(storage.bytes());
    storage.fill(data.memory->bytes());
  };
  try {
    const bool reads = !is_shared || host.rank() == 0;
    with_disk(host, "the reading of samples", reads, read);
  } catch (...) {
    problem = std::current_exception();
  }
  float failures = problem ? 1 : 0;
  host.sum({&failures, 1});
  if (problem) std::rethrow_exception(problem);
  if (is_shared && failures > 0)
    throw Error(ExitCode::data, "another process of this host could not read the data");
  storage.attach(data.memory->bytes());
}

}  // namespace trainer
