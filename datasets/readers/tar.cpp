#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "datasets/readers/image_samples.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/tar_arrays.h"
#include "datasets/tar/tar_shards.h"
#include "engine/config/registry.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

/// Image files within tar shards, decoded at each read.
class TarImages final : public ImageSamples {
 public:
  TarImages(DatasetInfo info, const ImageForm& form, std::shared_ptr<const TarShards> shards)
      : ImageSamples(std::move(info), form, ""), shards_(std::move(shards)) {}

  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    std::ranges::transform(indices, labels.begin(),
                           [&](std::int64_t index) { return shards_->label(index); });
  }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    if (classes() > 0) return Dataset::read_targets(indices, values);
    for (std::size_t row = 0; row < indices.size(); ++row)
      read_target_array(*shards_, indices[row], target(),
                        values.rows(static_cast<std::int64_t>(row), 1).span());
  }

 private:
  std::string path(std::int64_t index) const override { return shards_->input_place(index); }
  void read_file(std::int64_t index, std::vector<std::uint8_t>& bytes) const override {
    shards_->read_input(index, bytes);
  }
  void decode(std::int64_t index, ImageScaler& scaler, float* out) const override {
    thread_local std::vector<std::uint8_t> bytes;
    shards_->read_input(index, bytes);
    try {
      scaler.read(bytes, "", out);
    } catch (const Error& error) {
      Diagnostic diagnostic = error.diagnostics().front();
      diagnostic.place = path(index);
      throw Error(error.code(), {diagnostic});
    }
  }

  std::shared_ptr<const TarShards> shards_;
};

/// A name a line, without the line's end.
std::vector<std::string> read_class_names(const std::string& path) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 26;
  const std::string text = read_file(path, ExitCode::data, kLargest);
  const auto fail = [&](const std::string& what, const std::string& note) {
    throw Error(ExitCode::data, {Diagnostic{.what = what, .place = path, .notes = {note}}});
  };
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string name = text.substr(begin, end - begin);
    if (name.ends_with('\r')) name.pop_back();
    if (name.empty())
      fail("a class has no name", fmt::format("line {} is empty; each line names a class", names.size() + 1));
    names.push_back(std::move(name));
    begin = end + 1;
    if (std::ssize(names) > TarSample::kMostClasses)
      fail("file names too many classes", fmt::format("at most {} are read", TarSample::kMostClasses));
  }
  if (names.empty()) fail("file names no class", "each line names a class");
  return names;
}

/// Samples in tar shards as WebDataset has them.
class TarReader final : public Reader {
 public:
  TarReader(const Config& config, const ReaderContext& context)
      : form_{.extents = {}, .crop = config.get<double>("crop")},
        streamed_(config.get<bool>("streamed")),
        has_size_(config.has("size")),
        wrong_size_(config.diagnostic("size", "")) {
    if (has_size_) {
      const auto size = config.get<std::vector<std::int64_t>>("size");
      form_.extents = {size[0], size[1], config.get<bool>("gray") ? 1 : 3};
    }
    std::filesystem::path directory;  // that of the first training file
    for (auto& [key, files] : {std::pair{"train", &train_}, {"test", &test_}}) {
      if (!config.has(key)) continue;
      const Config names = config.at(key);
      std::vector<std::string> patterns;
      for (const std::string& name : names.type() == "files"
                                         ? names.value<std::vector<std::string>>()
                                         : std::vector<std::string>{names.value<std::string>()}) {
        if (train_.empty() && patterns.empty()) directory = directory_of("tar", name, context.path);
        patterns.push_back((directory / name).string());
      }
      if (patterns.empty()) config.fail(key, "names no file");
      *files = matching_files(patterns);
    }
    if (config.has("classes")) classes_file_ = (directory / config.get<std::string>("classes")).string();
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    bool none = true;
    for (const std::vector<std::string>* files : {&train_, &test_})
      for (const std::string& file : *files) {
        looked_for.push_back(file);
        std::error_code ignored;
        none = none && !std::filesystem::exists(file, ignored);
      }
    return none;
  }

  DataSource open() override {
    DataSource source{.name = "tar", .form = {.crop = form_.crop}};
    const auto train = std::make_shared<TarShards>(train_);
    DatasetInfo info;
    if (!classes_file_.empty()) info.class_names = read_class_names(classes_file_);
    if (train->has_labels())
      info.classes =
          info.class_names.empty() ? train->largest_label() + 1 : static_cast<int>(info.class_names.size());
    source.fingerprint.push_back(train->fingerprint());
    source.train = split(train, info);
    if (test_.empty()) return source;
    const auto test = std::make_shared<TarShards>(test_);
    source.fingerprint.push_back(test->fingerprint());
    source.test = split(test, source.train->info());
    for (const auto& [differ, what] :
         {std::pair{test->has_images() != train->has_images(), "images or arrays"},
          {test->has_labels() != train->has_labels(), "classes or values"},
          {source.test->sample() != source.train->sample(), "shape"},
          {source.test->target() != source.train->target(), "shape of targets"}})
      if (differ)
        test->fail(
            test_.front(), fmt::format("test samples differ in {} from training samples", what),
            fmt::format("a sample is {} here, {} in training", channels_first_text(source.test->sample()),
                        channels_first_text(source.train->sample())));
    return source;
  }

  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override {
    given.require({"TAR"});
    return split(std::make_shared<TarShards>(matching_files(given.files)), given.trained);
  }

 private:
  /// `trained`: has the classes of training.
  std::unique_ptr<Dataset> split(const std::shared_ptr<const TarShards>& shards,
                                 const DatasetInfo& trained) const {
    DatasetInfo info{.size = shards->size(), .sample = {}, .class_names = trained.class_names};
    if (shards->has_labels()) {
      info.classes = trained.classes;
      shards->check_labels(info.classes);
    } else {
      info.target = target_shape(*shards);
      if (!info.class_names.empty() && Shape{std::ssize(info.class_names)} != info.target)
        shards->fail(classes_file_, "names and values differ in number",
                     fmt::format("{} names; the values of a sample are {}", info.class_names.size(),
                                 info.target.text()));
    }
    if (has_size_ != shards->has_images()) {
      Diagnostic problem = wrong_size_;
      problem.what = has_size_ ? "samples that are arrays have their own size" : "images require a size";
      problem.help = has_size_ ? "without `size`" : "`size: 224`";
      throw Error(ExitCode::usage, {problem});
    }
    if (shards->has_images()) return std::make_unique<TarImages>(std::move(info), form_, shards);
    return tar_arrays(std::move(info), shards, streamed_);
  }

  ImageForm form_;
  bool streamed_, has_size_;
  Diagnostic wrong_size_;
  std::vector<std::string> train_, test_;
  std::string classes_file_;
};

std::vector<Setting> settings_of_files() {
  return {
      either("train", "tar shards of the training samples",
             {text("file", "a file, or a pattern such as train-*.tar"),
              list_of("files", "several files, in this order", text("", "a file or a pattern"))}),
      either(
          "test",
          "tar shards of the test samples; without them, data.validation takes some of the training samples",
          {text("file", "a file, or a pattern"),
           list_of("files", "several files, in this order", text("", "a file or a pattern"))})
          .optional(),
      text("classes", "file with the names of classes 0, 1, ..., a line each; default: no names").optional(),
      integers("size", "height and width to which images are scaled; arrays have their own", 2)
          .at_least(1)
          .at_most(1 << 14)
          .optional(),
      real("crop", "side of the centre crop of images, relative to the largest one")
          .above(0)
          .at_most(1)
          .fallback("1"),
      boolean("gray", "convert images to one channel").fallback("false"),
      boolean("streamed",
              "read arrays from the files each time, as images: for sets that are too large for memory")
          .fallback("false")};
}

const Registry<Reader, const ReaderContext&>::Add tar_reader{
    {.name = "tar",
     .help = "tar shards of WebDataset: consecutive members KEY.jpg (.png, .webp) or KEY.npy, and KEY.cls or "
             "KEY.target.npy",
     .settings = settings_of_files()},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<TarReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
