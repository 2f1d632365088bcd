#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/channels.h"
#include "datasets/readers/hdf5_dataset.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/npy_array.h"
#include "datasets/readers/values.h"
#include "datasets/readers/zip_file.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Where the channels of images lie in an array of them.
enum class Channels { last, first, none };

/// Shape of one sample in memory, channels last, from an array of (samples, ...).
Shape sample_of(const NpyArray& array, Channels channels) {
  const Shape sample = array.shape().without_front();
  if (sample.rank() == 0) return {1};
  if (channels == Channels::first && sample.rank() == 3) return {sample[1], sample[2], sample[0]};
  if (channels == Channels::none && sample.rank() == 2) return {sample[0], sample[1], 1};
  return sample;
}

/// (samples, positions...): the samples' shape without channels.
Shape shape_of_position_labels(const DatasetInfo& info) {
  const Shape& sample = info.sample;
  return Shape(sample.extents().first(sample.rank() - 1)).with_front(info.size);
}

/// The arrays of a split, read whole.
class NpyFiles final : public ValueFiles {
 public:
  NpyFiles(std::unique_ptr<NpyArray> inputs, std::unique_ptr<NpyArray> targets, Channels channels)
      : inputs_(std::move(inputs)), targets_(std::move(targets)), channels_(channels) {}

  void read(std::span<float> samples, std::span<float> targets) override {
    inputs_->read(samples, inputs_->input_divisor());
    arrange(*inputs_, samples);
    if (targets.empty()) return;
    targets_->read(targets);
    arrange(*targets_, targets);
  }

 private:
  void arrange(const NpyArray& array, std::span<float> elements) const {
    if (channels_ == Channels::first && array.shape().rank() == 4)
      channels_to_the_end(sample_of(array, channels_), elements);
  }

  std::unique_ptr<NpyArray> inputs_, targets_;
  Channels channels_;
};

/// The arrays of a split in plain files, read row by row.
class NpyRows final : public ValueRows {
 public:
  /// `targets` is null if they are labels.
  NpyRows(std::unique_ptr<NpyArray> inputs, std::unique_ptr<NpyArray> targets, Channels channels)
      : inputs_(std::move(inputs)), targets_(std::move(targets)), channels_(channels) {
    for (const NpyArray* array : {inputs_.get(), targets_.get()})
      if (array != nullptr && !array->reads_rows())
        array->fail("a packed array cannot be streamed", "unpack the file, or remove `streamed`");
  }

  void read_sample(std::int64_t index, std::span<float> elements) const override {
    read_row(*inputs_, index, elements, inputs_->input_divisor());
  }
  void read_target(std::int64_t index, std::span<float> elements) const override {
    read_row(*targets_, index, elements, 1);
  }

 private:
  void read_row(const NpyArray& from, std::int64_t index, std::span<float> elements, float divisor) const {
    from.read_row(index, elements, divisor);
    if (channels_ == Channels::first && from.shape().rank() == 4)
      channels_to_the_end(sample_of(from, channels_), elements);
  }

  std::unique_ptr<NpyArray> inputs_, targets_;
  Channels channels_;
};

/// Arrays: inputs and targets of each split, in separate NumPy files, in one archive, or in one HDF5 file.
class NpyReader final : public Reader {
 public:
  NpyReader(const Config& config, const ReaderContext& context)
      : name_(config.type()), has_labels_(config.get<std::string>("targets") == "labels") {
    if (config.has("test_inputs") != config.has("test_targets"))
      config.fail(config.has("test_inputs") ? "test_inputs" : "test_targets",
                  "test inputs and test targets go together", "give both, or neither");
    const auto name = [&](std::string_view key) {
      const std::string value = config.has(key) ? config.get<std::string>(key) : "";
      return name_ == "hdf5" ? Hdf5File::plain_name(value) : value;
    };
    const std::string& channels = config.get<std::string>("channels");
    channels_ = channels == "first" ? Channels::first : channels == "none" ? Channels::none : Channels::last;
    if (config.has("test_lengths") != (config.has("test_inputs") && config.has("train_lengths")))
      config.fail(config.has("test_lengths") ? "test_lengths" : "train_lengths",
                  "lengths are given for one split only", "give both, or neither");
    train_ = {name("train_inputs"), name("train_targets"), name("train_lengths")};
    test_ = {name("test_inputs"), name("test_targets"), name("test_lengths")};
    directory_ =
        directory_of(name_, name_ == "npy" ? train_.inputs : config.get<std::string>("file"), context.path);
    streamed_ = name_ != "npz" && config.get<bool>("streamed");
    if (name_ != "npy") archive_path_ = path(config.get<std::string>("file"));
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
    DataSource source{.name = name_,
                      .form = {.channels_first = channels_ == Channels::first,
                               .array = archive_path_.empty() ? "" : train_.inputs}};
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

  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override {
    classes_ = given.trained.classes;
    DataSource source;
    if (!archive_path_.empty()) {
      given.require({name_ == "npz" ? "ARCHIVE" : "FILE"});
      archive_path_ = given.files.front();
      const bool has_test = !test_.inputs.empty() && std::ranges::count(arrays(), test_.inputs) > 0;
      return split(has_test ? test_ : train_, source);
    }
    const bool has_lengths = !train_.lengths.empty();
    if (has_lengths)
      given.require({"INPUTS", "TARGETS", "LENGTHS"});
    else
      given.require({"INPUTS", "TARGETS"});
    directory_.clear();
    return split({given.files[0], given.files[1], has_lengths ? given.files[2] : ""}, source);
  }

 private:
  struct Names {
    std::string inputs, targets, lengths;
  };

  std::string path(const std::string& file) const {
    return (std::filesystem::path(directory_) / file).string();
  }
  /// The names of all in the archive or HDF5 file.
  std::vector<std::string> arrays() const {
    return name_ == "npz" ? ZipFile(archive_path_).arrays() : Hdf5File(archive_path_).datasets();
  }
  std::unique_ptr<NpyArray> array(const std::string& name, DataSource& source) {
    std::unique_ptr<ByteStream> bytes;
    if (archive_path_.empty()) {
      const std::string found = existing_file(path(name));
      bytes = std::make_unique<ByteReader>(found.empty() ? path(name) : found);
    } else if (name_ == "hdf5") {
      bytes = hdf5_stream(archive_path_, name);
    } else {
      // Streams are read when samples are loaded: each holds its own archive.
      bytes = std::make_unique<Archived>(archive_path_, name);
    }
    source.fingerprint.push_back(bytes->fingerprint());
    return std::make_unique<NpyArray>(std::move(bytes));
  }
  std::unique_ptr<Dataset> split(const Names& names, DataSource& source) {
    auto inputs = array(names.inputs, source), targets = array(names.targets, source);
    if (inputs->shape().rank() == 0) inputs->fail("array is a scalar", "its first axis must count samples");
    if (targets->shape().rank() == 0 || targets->shape()[0] != inputs->shape()[0])
      targets->fail("inputs and targets differ in number",
                    fmt::format("{} inputs, targets are {}", inputs->shape()[0], targets->shape().text()));
    ValueSplit split{.info = {.size = inputs->shape()[0],
                              .sample = sample_of(*inputs, channels_),
                              .is_streamed = streamed_}};
    DatasetInfo& info = split.info;
    if (!names.lengths.empty()) read_lengths(*array(names.lengths, source), split);
    if (has_labels_) {
      const bool one = targets->shape().size() == info.size;
      if (!targets->is_integer() || (!one && targets->shape() != shape_of_position_labels(info)))
        targets->fail("array does not hold labels",
                      fmt::format("labels are one integer per sample, or one per position; inputs "
                                  "are {}, it is {}{}",
                                  inputs->shape().text(), targets->shape().text(),
                                  targets->is_integer() ? "" : " floats; `targets: numbers` learns values"));
      if (!one) info.positions = targets->shape().without_front().size();
      split.labels.resize(targets->shape().size());
      targets->read_labels(split.labels, classes_ > 0 ? classes_ - 1 : kMaxClasses - 1);
      if (classes_ == 0) classes_ = *std::ranges::max_element(split.labels) + 1;
      info.classes = classes_;
    } else {
      info.target = sample_of(*targets, channels_);
    }
    if (streamed_)
      return std::make_unique<StreamedValues>(
          std::move(split), std::make_unique<NpyRows>(std::move(inputs),
                                                      has_labels_ ? nullptr : std::move(targets), channels_));
    return std::make_unique<StoredValues>(
        std::move(split), std::make_unique<NpyFiles>(std::move(inputs), std::move(targets), channels_));
  }

  static void read_lengths(NpyArray& lengths, ValueSplit& split) {
    DatasetInfo& info = split.info;
    if (info.sample.rank() > 2 || info.sample.size() < 2)
      lengths.fail(
          "lengths are given for samples that are no sequences",
          fmt::format("inputs must be (samples, positions, features); a sample is {}", info.sample.text()));
    if (!lengths.is_integer() || lengths.shape() != Shape{info.size})
      lengths.fail("array does not hold lengths",
                   fmt::format("lengths are one integer for each of {} samples, it is {}{}", info.size,
                               lengths.shape().text(), lengths.is_integer() ? "" : " floats"));
    info.has_lengths = true;
    split.lengths.resize(info.size);
    lengths.read_lengths(split.lengths, info.sample[0]);
  }

  /// An array of an archive that it owns.
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

  static constexpr std::int32_t kMaxClasses = 1 << 20;

  std::string name_, directory_, archive_path_;
  bool has_labels_, streamed_ = false;
  Channels channels_ = Channels::last;
  Names train_, test_;
  std::int32_t classes_ = 0;
};

std::vector<Setting> array_settings(const std::string& what) {
  return {
      text("train_inputs", what + " of the training inputs; the first axis counts samples"),
      text("train_targets", what + " of the training targets"),
      text("test_inputs", "as train_inputs").optional(),
      text("test_targets", "as train_targets").optional(),
      text("train_lengths", what + " of the sequences' lengths; the positions behind a length are padding")
          .optional(),
      text("test_lengths", "as train_lengths").optional(),
      choice(
          "targets",
          "labels: one integer per sample, or one per position (pixel), classes counted from 0; numbers: any "
          "array",
          {"labels", "numbers"})
          .fallback("labels"),
      choice("channels", "axis of the channels of images; none: one channel, without an axis",
             {"last", "first", "none"})
          .fallback("last")};
}

std::vector<Setting> with_streamed(std::vector<Setting> settings, const std::string& what) {
  settings.push_back(
      boolean("streamed", "read samples from the " + what + " too large for memory").fallback("false"));
  return settings;
}

std::vector<Setting> archive_settings(const std::string& file, const std::string& array) {
  std::vector<Setting> settings = array_settings(array);
  settings.insert(settings.begin(), text("file", file));
  return settings;
}

std::unique_ptr<Reader> make(const Config& config, const ReaderContext& context) {
  return std::make_unique<NpyReader>(config, context);
}

const Registry<Reader, const ReaderContext&>::Add npy_reader{
    {.name = "npy",
     .help = "NumPy arrays in .npy files, plain or .gz",
     .settings = with_streamed(array_settings("file"), "files each time: for plain files that are")},
    make};
const Registry<Reader, const ReaderContext&>::Add npz_reader{
    {.name = "npz",
     .help = "NumPy arrays in an .npz archive",
     .settings = archive_settings("the archive", "name of the array")},
    make};
const Registry<Reader, const ReaderContext&>::Add hdf5_reader{
    {.name = "hdf5",
     .help = "arrays of an HDF5 file: datasets of integers or floats, contiguous or in chunks, plain or gzip",
     .settings = with_streamed(archive_settings("the file", "dataset, such as `train/x`,"),
                               "file each time: for datasets that are")},
    make};

}  // namespace
}  // namespace trainer
