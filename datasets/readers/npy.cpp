#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/npy_array.h"
#include "datasets/readers/numbers.h"
#include "datasets/readers/zip_file.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

constexpr float kWhite = 255;

/// Where the channels of images lie in an array of them.
enum class Channels { last, first, none };

/// One sample of an array whose first axis counts the samples, with channels last.
Shape sample_of(const NpyArray& array, Channels channels) {
  const Shape sample = array.shape().without_front();
  if (sample.rank() == 0) return {1};
  if (channels == Channels::first && sample.rank() == 3) return {sample[1], sample[2], sample[0]};
  if (channels == Channels::none && sample.rank() == 2) return {sample[0], sample[1], 1};
  return sample;
}

/// An array of labels for each position of samples: their shape without channels.
Shape shape_of_position_labels(const NumberForm& form) {
  const Shape& sample = form.sample;
  return Shape(sample.extents().first(static_cast<std::size_t>(sample.rank() - 1))).with_front(form.size);
}

void channels_to_the_end(const Shape& sample, std::span<float> all) {
  const std::int64_t channels = sample[2], area = sample[0] * sample[1];
  if (channels == 1) return;
  std::vector<float> one(static_cast<std::size_t>(sample.size()));
  for (std::size_t first = 0; first < all.size(); first += one.size()) {
    std::copy_n(all.data() + first, one.size(), one.data());
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < area; ++i)
        all[first + static_cast<std::size_t>(i * channels + c)] = one[static_cast<std::size_t>(c * area + i)];
  }
}

/// The arrays of a split, and how they become samples.
class NpyFiles final : public NumberFiles {
 public:
  NpyFiles(std::unique_ptr<NpyArray> inputs, std::unique_ptr<NpyArray> targets, Channels channels)
      : inputs_(std::move(inputs)), targets_(std::move(targets)), channels_(channels) {}

  void read(std::span<float> samples, std::span<float> targets) override {
    inputs_->read(samples, inputs_->is_bytes() ? kWhite : 1);
    arrange(*inputs_, samples);
    if (targets.empty()) return;
    targets_->read(targets);
    arrange(*targets_, targets);
  }

 private:
  void arrange(const NpyArray& array, std::span<float> numbers) const {
    if (channels_ == Channels::first && array.shape().rank() == 4)
      channels_to_the_end(sample_of(array, channels_), numbers);
  }

  std::unique_ptr<NpyArray> inputs_, targets_;
  Channels channels_;
};

/// The same arrays in plain files, of which rows are read when they are wanted.
class NpyRows final : public NumberRows {
 public:
  /// `targets` is null where they are labels.
  NpyRows(std::unique_ptr<NpyArray> inputs, std::unique_ptr<NpyArray> targets, Channels channels)
      : inputs_(std::move(inputs)), channels_(channels) {
    if (targets) targets_.emplace(std::move(targets));
  }

  void read_sample(std::int64_t index, std::span<float> numbers) const override {
    read_row(inputs_, index, numbers, inputs_.array->is_bytes() ? kWhite : 1);
  }
  void read_target(std::int64_t index, std::span<float> numbers) const override {
    read_row(*targets_, index, numbers, 1);
  }

 private:
  struct Rows {
    explicit Rows(std::unique_ptr<NpyArray> which)
        : array(std::move(which)), file(array->place(), ExitCode::data) {
      if (!array->lies_in(file))
        array->fail("a packed array cannot be streamed", "unpack the file, or leave `streamed` out");
    }
    std::unique_ptr<NpyArray> array;
    InputFile file;
  };
  void read_row(const Rows& from, std::int64_t index, std::span<float> numbers, float divisor) const {
    from.array->read_row(from.file, index, numbers, divisor);
    if (channels_ == Channels::first && from.array->shape().rank() == 4)
      channels_to_the_end(sample_of(*from.array, channels_), numbers);
  }

  Rows inputs_;
  std::optional<Rows> targets_;
  Channels channels_;
};

/// Arrays of numpy: inputs and targets of each split, in files of their own or in one archive.
class NpyReader final : public Reader {
 public:
  NpyReader(const Config& config, const ReaderContext& context)
      : name_(config.type()), has_labels_(config.get<std::string>("targets") == "labels") {
    if (config.has("test_inputs") != config.has("test_targets"))
      config.fail(config.has("test_inputs") ? "test_inputs" : "test_targets",
                  "test inputs and test targets go together", "give both, or neither");
    const auto name = [&](std::string_view key) {
      return config.has(key) ? config.get<std::string>(key) : std::string();
    };
    const std::string& channels = config.get<std::string>("channels");
    channels_ = channels == "first" ? Channels::first : channels == "none" ? Channels::none : Channels::last;
    if (config.has("test_lengths") != (config.has("test_inputs") && config.has("train_lengths")))
      config.fail(config.has("test_lengths") ? "test_lengths" : "train_lengths",
                  "training samples and test samples are padded alike, or neither are",
                  "give both, or neither");
    train_ = {name("train_inputs"), name("train_targets"), name("train_lengths")};
    test_ = {name("test_inputs"), name("test_targets"), name("test_lengths")};
    directory_ = context.path;
    streamed_ = name_ == "npy" && config.get<bool>("streamed");
    if (name_ == "npz") archive_path_ = path(name("file"));
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    if (!archive_path_.empty()) {
      looked_for.push_back(archive_path_);
      return !std::filesystem::exists(archive_path_);
    }
    bool none = true;
    for (const std::string* file :
         {&train_.inputs, &train_.targets, &train_.lengths, &test_.inputs, &test_.targets, &test_.lengths}) {
      if (file->empty()) continue;
      looked_for.push_back(path(*file) + "[.gz]");
      none = none && existing_file(path(*file)).empty();
    }
    return none;
  }

  DataSource open() override {
    DataSource source{.name = name_};
    source.train = split(train_, source);
    if (test_.inputs.empty()) return source;
    source.test = split(test_, source);
    if (source.test->sample() != source.train->sample() || source.test->target() != source.train->target())
      throw Error(
          ExitCode::data,
          {Diagnostic{.what = "test samples differ in shape from training samples",
                      .place = archive_path_.empty() ? path(test_.inputs) : archive_path_,
                      .notes = {fmt::format("{} and {} here, {} and {} in training",
                                            source.test->sample().text(), source.test->target().text(),
                                            source.train->sample().text(), source.train->target().text())}}});
    return source;
  }

 private:
  struct Names {
    std::string inputs, targets, lengths;
  };

  std::string path(const std::string& file) const {
    return (std::filesystem::path(directory_) / file).string();
  }
  std::unique_ptr<NpyArray> array(const std::string& name, DataSource& source) {
    std::unique_ptr<ByteStream> bytes;
    if (archive_path_.empty()) {
      const std::string found = existing_file(path(name));
      bytes = std::make_unique<ByteReader>(found.empty() ? path(name) : found);
    } else {
      // Streams read from the archive when samples are loaded, so each holds one of its own.
      bytes = std::make_unique<Archived>(archive_path_, name);
    }
    source.fingerprint.push_back(bytes->fingerprint());
    return std::make_unique<NpyArray>(std::move(bytes));
  }
  std::unique_ptr<Dataset> split(const Names& names, DataSource& source) {
    auto inputs = array(names.inputs, source), targets = array(names.targets, source);
    if (inputs->shape().rank() == 0)
      inputs->fail("npy array is a single number", "its first axis counts samples");
    if (targets->shape().rank() == 0 || targets->shape()[0] != inputs->shape()[0])
      targets->fail("inputs and targets differ in number",
                    fmt::format("{} inputs, targets are {}", inputs->shape()[0], targets->shape().text()));
    NumberForm form{.size = inputs->shape()[0], .sample = sample_of(*inputs, channels_)};
    if (!names.lengths.empty()) read_lengths(*array(names.lengths, source), form);
    if (has_labels_) {
      const bool one = targets->shape().size() == form.size;
      if (!targets->is_integer() || (!one && targets->shape() != shape_of_position_labels(form)))
        targets->fail("npy array does not hold labels",
                      fmt::format("labels are one integer a sample, or one for each of its positions; inputs "
                                  "are {}, it is {}{}",
                                  inputs->shape().text(), targets->shape().text(),
                                  targets->is_integer() ? "" : " floats"));
      if (!one) form.positions = targets->shape().without_front().size();
      form.labels.resize(static_cast<std::size_t>(targets->shape().size()));
      targets->read_labels(form.labels, classes_ > 0 ? classes_ - 1 : kMostClasses - 1);
      if (classes_ == 0) classes_ = *std::ranges::max_element(form.labels) + 1;
      form.classes = classes_;
    } else {
      form.target = sample_of(*targets, channels_);
    }
    if (streamed_)
      return std::make_unique<StreamedNumbers>(
          std::move(form), std::make_unique<NpyRows>(std::move(inputs),
                                                     has_labels_ ? nullptr : std::move(targets), channels_));
    return std::make_unique<Numbers>(
        std::move(form), std::make_unique<NpyFiles>(std::move(inputs), std::move(targets), channels_));
  }

  /// Of samples that are sequences with padding.
  static void read_lengths(NpyArray& lengths, NumberForm& form) {
    if (form.sample.rank() > 2 || form.sample.size() < 2)
      lengths.fail("only sequences have lengths",
                   fmt::format("inputs (samples, positions, features); a sample is {}", form.sample.text()));
    if (!lengths.is_integer() || lengths.shape() != Shape{form.size})
      lengths.fail("npy array does not hold lengths",
                   fmt::format("lengths are one integer for each of {} samples, it is {}{}", form.size,
                               lengths.shape().text(), lengths.is_integer() ? "" : " floats"));
    form.lengths.resize(static_cast<std::size_t>(form.size));
    lengths.read_lengths(form.lengths, form.sample[0]);
  }

  /// An array of an archive, together with the archive.
  class Archived final : public ByteStream {
   public:
    Archived(const std::string& path, const std::string& name)
        : archive_(path), bytes_(archive_.open(name + ".npy")) {}
    std::int64_t size() const override { return bytes_->size(); }
    void read(std::span<std::uint8_t> bytes) override { bytes_->read(bytes); }
    void finish() override { bytes_->finish(); }
    std::string fingerprint() const override { return bytes_->fingerprint(); }
    std::string place() const override { return bytes_->place(); }

   private:
    ZipFile archive_;
    std::unique_ptr<ByteStream> bytes_;
  };

  static constexpr std::int32_t kMostClasses = 1 << 20;

  std::string name_, directory_, archive_path_;
  bool has_labels_, streamed_ = false;
  Channels channels_ = Channels::last;
  Names train_, test_;
  std::int32_t classes_ = 0;
};

std::vector<Setting> array_settings(const std::string& what) {
  return {
      text("train_inputs", what + " of the training samples, which its first axis counts"),
      text("train_targets", what + " of their targets"),
      text("test_inputs", "as train_inputs").optional(),
      text("test_targets", "as train_targets").optional(),
      text("train_lengths", what + " of their lengths, where samples are sequences: so many positions of "
                                   "each come first, the rest "
                                   "is padding")
          .optional(),
      text("test_lengths", "as train_lengths").optional(),
      choice(
          "targets",
          "labels: one integer a sample, or one for each position of it (a pixel), classes counted from 0; "
          "numbers: any array",
          {"labels", "numbers"})
          .fallback("labels"),
      choice("channels", "where the channels of images lie; none: one channel, without an axis",
             {"last", "first", "none"})
          .fallback("last")};
}

std::vector<Setting> file_settings() {
  std::vector<Setting> settings = array_settings("file");
  settings.push_back(boolean("streamed",
                             "samples are read from the files whenever they are wanted: for plain files that "
                             "are too large for memory")
                         .fallback("false"));
  return settings;
}

std::vector<Setting> archive_settings() {
  std::vector<Setting> settings = array_settings("name of the array");
  settings.insert(settings.begin(), text("file", "the archive"));
  return settings;
}

std::unique_ptr<Reader> make(const Config& config, const ReaderContext& context) {
  return std::make_unique<NpyReader>(config, context);
}

const Registry<Reader, const ReaderContext&>::Add npy{
    {.name = "npy", .help = "numpy arrays in .npy files, plain or .gz", .settings = file_settings()}, make};
const Registry<Reader, const ReaderContext&>::Add npz{
    {.name = "npz", .help = "numpy arrays in an archive that savez wrote", .settings = archive_settings()},
    make};

}  // namespace
}  // namespace trainer
