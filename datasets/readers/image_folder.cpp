#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

#include "datasets/dataset.h"
#include "datasets/readers/scaled_image.h"
#include "engine/config/registry.h"
#include "engine/core/random.h"
#include "engine/system/thread_pool.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// The images of a split, sorted by class folder, then by file name. A million names take about 40 MB.
class ImageList {
 public:
  /// `expected`: the class folders of training, sorted; empty: those found here.
  ImageList(const fs::path& folder, const std::vector<std::string>& expected) : folder_(folder.string()) {
    for (const std::string& name : entries(folder, fs::file_type::directory)) classes_.push_back(name);
    if (classes_.empty()) fail("no class folder found", "each class has a folder with its images");
    if (!expected.empty()) {
      for (const std::string& name : classes_)
        if (!std::ranges::binary_search(expected, name))
          fail("a class that training lacks", fmt::format("folder {}", name));
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
  std::int32_t label(std::int64_t index) const { return labels_.at(index); }
  std::string path(std::int64_t index) const {
    const std::size_t at = index;
    const std::size_t begin = at == 0 ? 0 : ends_.at(at - 1);
    return folder_ + '/' + classes_[class_of_.at(at)] + '/' + names_.substr(begin, ends_.at(at) - begin);
  }
  /// Without the images of these paths. Error(data) if a class of `required` has no others.
  void leave_out(const std::set<std::string>& paths, const std::vector<std::string>& required) {
    std::string names;
    std::vector<std::size_t> ends;
    std::vector<std::int32_t> labels, class_of;
    std::set<std::string> left;
    for (std::int64_t index = 0; index < size(); ++index) {
      const std::string path = this->path(index);
      if (paths.contains(path)) continue;
      names += fs::path(path).filename().string();
      ends.push_back(names.size());
      labels.push_back(labels_[index]);
      class_of.push_back(class_of_[index]);
      left.insert(classes_[class_of_[index]]);
    }
    for (const std::string& name : required)
      if (!left.contains(name))
        fail("a class without images", "all images of folder " + name + " are damaged");
    names_ = std::move(names);
    ends_ = std::move(ends);
    labels_ = std::move(labels);
    class_of_ = std::move(class_of);
  }
  std::string fingerprint() const {
    std::string all = names_;
    for (const std::string& name : classes_) all += '/' + name;
    return fmt::format("{} classes, {} images, names {:016x}", classes_.size(), size(), hash_text(all));
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& note) const {
    throw Error(ExitCode::data, {Diagnostic{.what = what, .place = folder_, .notes = {note}}});
  }
  /// Sorted names of a folder's entries of one type, without hidden ones.
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

/// Paths of the images that cannot be decoded: reads all of them, on all cores.
std::set<std::string> damaged_images(const std::vector<ImageList>& lists, const ImageExtents& extents) {
  constexpr unsigned kMostThreads = 16;
  std::set<std::string> damaged;
  std::mutex mutex;
  ThreadPool pool(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads)));
  for (const ImageList& list : lists) {
    std::atomic<std::int64_t> next = 0;
    pool.run([&](int) {
      ImageScaler scaler(extents, 1);
      std::vector<float> pixels(extents.size());
      for (std::int64_t index = next++; index < list.size(); index = next++) {
        const std::string path = list.path(index);
        try {
          scaler.read(path, pixels.data());
        } catch (const Error&) {
          const std::lock_guard lock(mutex);
          damaged.insert(path);
        }
      }
    });
  }
  return damaged;
}

/// Images that are decoded at each read, cropped to one aspect ratio and scaled to one size.
class ImageFolder final : public Dataset {
 public:
  /// `names`: of all classes, sorted. `help`: where an image is damaged.
  ImageFolder(ImageList list, const std::vector<std::string>& names, const ImageExtents& extents, double crop,
              const char* help = "")
      : Dataset({.size = list.size(),
                 .sample = {extents.height, extents.width, extents.channels},
                 .classes = static_cast<int>(names.size()),
                 .class_names = names,
                 .is_streamed = true}),
        list_(std::move(list)),
        extents_(extents),
        crop_(crop),
        help_(help) {}

  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    std::ranges::transform(indices, labels.begin(), [&](std::int64_t index) { return list_.label(index); });
  }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    std::unique_ptr<ImageScaler> scaler = borrow();
    try {
      for (std::size_t row = 0; row < indices.size(); ++row)
        scaler->read(list_.path(indices[row]), x.data() + static_cast<std::int64_t>(row) * extents_.size());
    } catch (const Error& error) {
      std::vector<Diagnostic> diagnostics = error.diagnostics();
      if (diagnostics.front().help.empty()) diagnostics.front().help = help_;
      throw Error(error.code(), std::move(diagnostics));
    }
    const std::lock_guard lock(mutex_);
    scalers_.push_back(std::move(scaler));
  }

 private:
  /// A scaler that no other thread uses; read() puts it back.
  std::unique_ptr<ImageScaler> borrow() const {
    const std::lock_guard lock(mutex_);
    if (scalers_.empty()) return std::make_unique<ImageScaler>(extents_, crop_);
    auto scaler = std::move(scalers_.back());
    scalers_.pop_back();
    return scaler;
  }

  ImageList list_;
  ImageExtents extents_;
  double crop_;
  const char* help_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<ImageScaler>> scalers_;
};

/// A folder of PNG and JPEG files for each class: the layout of ImageNet.
class ImageFolderReader final : public Reader {
 public:
  ImageFolderReader(const Config& config, const ReaderContext& context)
      : train_(fs::path(context.path) / config.get<std::string>("train")),
        crop_(config.get<double>("crop")),
        skips_damaged_(config.get<std::string>("damaged") == "skip"),
        learned_(context.learned) {
    const auto size = config.get<std::vector<std::int64_t>>("size");
    extents_ = {size[0], size[1], config.get<bool>("gray") ? 1 : 3};
    // Without the key, an absent folder means that there is no test set.
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
    DataSource source{.name = "image_folder", .form = {.crop = crop_}};
    std::vector<ImageList> lists = list_images();
    const std::vector<std::string> names = lists.front().classes();
    if (skips_damaged_) {
      const std::set<std::string> damaged =
          learned_.empty() ? damaged_images(lists, extents_) : paths_of(learned_);
      lists.front().leave_out(damaged, names);
      if (lists.size() > 1) lists.back().leave_out(damaged, {});
      source.notice = notice_of(damaged);
    }
    for (ImageList& list : lists) {
      source.fingerprint.push_back(list.fingerprint());
      (source.train ? source.test : source.train) = std::make_unique<ImageFolder>(
          std::move(list), names, extents_, crop_,
          "`damaged: skip` in image_folder looks at all images first, and leaves such ones out");
    }
    return source;
  }
  std::string learn() override {
    if (!skips_damaged_) return "";
    std::string text(1, kEnd);  // not empty, if none is damaged
    for (const std::string& path : damaged_images(list_images(), extents_)) text += path + kEnd;
    return text;
  }
  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override {
    given.require({"FOLDER"});
    return std::make_unique<ImageFolder>(ImageList(given.files.front(), given.trained.class_names),
                                         given.trained.class_names, extents_, crop_);
  }

 private:
  static constexpr char kEnd = '\0';  // of a path in what is learned

  /// Those of training, then those to test on.
  std::vector<ImageList> list_images() const {
    std::vector<ImageList> lists;
    lists.emplace_back(train_, std::vector<std::string>());
    if (!test_.empty()) lists.emplace_back(test_, lists.front().classes());
    return lists;
  }
  static std::set<std::string> paths_of(const std::string& learned) {
    std::set<std::string> paths;
    for (std::size_t begin = 1, end; (end = learned.find(kEnd, begin)) != std::string::npos; begin = end + 1)
      paths.insert(learned.substr(begin, end - begin));
    return paths;
  }
  static std::string notice_of(const std::set<std::string>& damaged) {
    if (damaged.empty()) return "";
    constexpr std::size_t kMostNames = 3;
    std::string text = damaged.size() == 1 ? "1 damaged image is left out"
                                           : fmt::format("{} damaged images are left out", damaged.size());
    std::size_t named = 0;
    for (const std::string& path : damaged) {
      if (named == kMostNames) break;
      text += (named++ == 0 ? ": " : ", ") + path;
    }
    return damaged.size() > named ? text + ", ..." : text;
  }

  fs::path train_, test_;
  ImageExtents extents_;
  double crop_;
  bool skips_damaged_;
  std::string learned_;
};

const Registry<Reader, const ReaderContext&>::Add image_folder_reader{
    {.name = "image_folder",
     .help = "PNG and JPEG files in a folder for each class, decoded at each read",
     .settings =
         {text("train", "folder that holds the class folders of the training samples").fallback("train"),
          text("test", "folder that holds the class folders of the test samples; default: val, if it exists")
              .optional(),
          integers("size", "height and width to which images are scaled", 2).at_least(1).at_most(1 << 14),
          real("crop", "side of the centre crop, relative to the largest one")
              .above(0)
              .at_most(1)
              .fallback("1"),
          boolean("gray", "convert images to one channel").fallback("false"),
          choice("damaged",
                 "error: a damaged image ends the run when it is read; skip: all images are read before the "
                 "run, and damaged ones left out",
                 {"error", "skip"})
              .fallback("error")}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<ImageFolderReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
