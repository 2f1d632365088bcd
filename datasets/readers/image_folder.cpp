#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>

#include "datasets/dataset.h"
#include "datasets/readers/scaled_image.h"
#include "engine/config/registry.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// The images of a split: class by class in order of their folders' names, each in order of file names. A
/// million names fit in some 40 MB.
class ImageList {
 public:
  /// `expected` are the folders' names in training; empty: those found here.
  ImageList(const fs::path& folder, const std::vector<std::string>& expected) : folder_(folder.string()) {
    for (const std::string& name : entries(folder, fs::file_type::directory)) classes_.push_back(name);
    if (classes_.empty()) fail("no class is there", "images lie in a folder for each class");
    if (!expected.empty()) {
      for (const std::string& name : classes_)
        if (!std::ranges::binary_search(expected, name))
          fail("a class that is not in training", fmt::format("folder {}", name));
    }
    const std::vector<std::string>& order = expected.empty() ? classes_ : expected;
    for (const std::string& name : classes_) {
      const auto label = std::ranges::lower_bound(order, name) - order.begin();
      bool any = false;
      for (const std::string& file : entries(folder / name, fs::file_type::regular)) {
        if (!is_image(file)) continue;
        any = true;
        names_ += file;
        ends_.push_back(names_.size());
        labels_.push_back(static_cast<std::int32_t>(label));
        class_of_.push_back(static_cast<std::int32_t>(&name - classes_.data()));
      }
      if (!any) fail("a class without images", fmt::format("folder {} has no .jpg, .jpeg or .png", name));
    }
  }

  std::int64_t size() const { return std::ssize(ends_); }
  const std::vector<std::string>& classes() const { return classes_; }
  std::int32_t label(std::int64_t index) const { return labels_.at(static_cast<std::size_t>(index)); }
  std::string path(std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    const std::size_t begin = at == 0 ? 0 : ends_.at(at - 1);
    return folder_ + '/' + classes_[static_cast<std::size_t>(class_of_.at(at))] + '/' +
           names_.substr(begin, ends_.at(at) - begin);
  }
  std::string fingerprint() const {
    return fmt::format("{} classes, {} images, names {:016x}", classes_.size(), size(), hash_text(names_));
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& note) const {
    throw Error(ExitCode::data, {Diagnostic{.what = what, .place = folder_, .notes = {note}}});
  }
  /// Sorted names of what lies in a folder, but for hidden things.
  std::vector<std::string> entries(const fs::path& folder, fs::file_type type) const {
    std::vector<std::string> names;
    std::error_code problem;
    for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
         entry.increment(problem)) {
      const std::string name = entry->path().filename().string();
      std::error_code gone;
      if (!name.starts_with('.') && entry->status(gone).type() == type) names.push_back(name);
    }
    if (problem) fail("folder cannot be read", fmt::format("{}: {}", folder.string(), problem.message()));
    std::ranges::sort(names);
    return names;
  }
  static bool is_image(std::string_view name) {
    std::string end(name.substr(name.rfind('.') + 1));
    std::ranges::transform(end, end.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return end == "jpg" || end == "jpeg" || end == "png";
  }

  std::string folder_, names_;
  std::vector<std::size_t> ends_;
  std::vector<std::int32_t> labels_, class_of_;
  std::vector<std::string> classes_;
};

/// Images that are decoded whenever they are read, cut to one shape and scaled to one size.
class ImageFolder final : public Dataset {
 public:
  /// `names`: of the classes.
  ImageFolder(ImageList list, std::vector<std::string> names, const ImageExtents& extents, double crop)
      : list_(std::move(list)), names_(std::move(names)), extents_(extents), crop_(crop) {}

  std::int64_t size() const override { return list_.size(); }
  Shape sample() const override { return {extents_.height, extents_.width, extents_.channels}; }
  int classes() const override { return static_cast<int>(names_.size()); }
  std::int32_t label(std::int64_t index) const override { return list_.label(index); }
  bool is_streamed() const override { return true; }

  std::vector<std::string> class_names() const override { return names_; }

  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    std::unique_ptr<ImageScaler> scaler = borrow();
    for (std::size_t row = 0; row < indices.size(); ++row)
      scaler->read(list_.path(indices[row]), x.data() + static_cast<std::int64_t>(row) * extents_.size());
    const std::lock_guard lock(mutex_);
    scalers_.push_back(std::move(scaler));
  }

 private:
  /// Memory that one thread works in; kept for the next.
  std::unique_ptr<ImageScaler> borrow() const {
    const std::lock_guard lock(mutex_);
    if (scalers_.empty()) return std::make_unique<ImageScaler>(extents_, crop_);
    auto scaler = std::move(scalers_.back());
    scalers_.pop_back();
    return scaler;
  }

  ImageList list_;
  std::vector<std::string> names_;
  ImageExtents extents_;
  double crop_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ImageScaler>> scalers_;
};

/// Folders of PNG and JPEG files, one for each class, as ImageNet lies on disks.
class ImageFolderReader final : public Reader {
 public:
  ImageFolderReader(const Config& config, const ReaderContext& context)
      : train_(fs::path(context.path) / config.get<std::string>("train")), crop_(config.get<double>("crop")) {
    const auto size = config.get<std::vector<std::int64_t>>("size");
    extents_ = {size[0], size[1], config.get<bool>("gray") ? 1 : 3};
    // A resolved config tells no default as if it had been asked for: without this key it goes on where there
    // is no test set.
    const fs::path usual = fs::path(context.path) / "val";
    if (config.has("test"))
      test_ = fs::path(context.path) / config.get<std::string>("test");
    else if (fs::is_directory(usual))
      test_ = usual;
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    looked_for.push_back((train_ / "CLASS" / "*.jpg").string());
    return !fs::is_directory(train_);
  }
  DataSource open() override {
    DataSource source{.name = "image_folder"};
    ImageList train(train_, {});
    const std::vector<std::string> names = train.classes();
    source.fingerprint.push_back(train.fingerprint());
    if (!test_.empty()) {
      ImageList test(test_, names);
      source.fingerprint.push_back(test.fingerprint());
      source.test = std::make_unique<ImageFolder>(std::move(test), names, extents_, crop_);
    }
    source.train = std::make_unique<ImageFolder>(std::move(train), names, extents_, crop_);
    return source;
  }

 private:
  fs::path train_, test_;
  ImageExtents extents_;
  double crop_;
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "image_folder",
     .help = "PNG and JPEG files in a folder for each class, decoded whenever they are read",
     .settings =
         {text("train", "folder of the training samples' folders").fallback("train"),
          text("test", "folder of the test samples' folders, with the same names (val, where that is there)")
              .optional(),
          integers("size", "height and width that images are scaled to", 2).at_least(1).at_most(1 << 14),
          real("crop", "side of the part that is taken, out of the middle, relative to the largest there is")
              .above(0)
              .at_most(1)
              .fallback("1"),
          boolean("gray", "one channel instead of red, green and blue").fallback("false")}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<ImageFolderReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
