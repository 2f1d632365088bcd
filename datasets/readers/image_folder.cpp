#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "datasets/readers/damaged_images.h"
#include "datasets/readers/image_samples.h"
#include "engine/config/registry.h"
#include "engine/core/random.h"

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
        if (!std::ranges::binary_search(expected, name)) fail_unknown_class(name, expected);
    }
    const std::vector<std::string>& order = expected.empty() ? classes_ : expected;
    for (const std::string& name : classes_) {
      const auto label = std::ranges::lower_bound(order, name) - order.begin();
      bool any = false;
      for (const std::string& file : entries(folder / name, fs::file_type::regular)) {
        if (!ImageDecoder::has_image_name(file)) continue;
        any = true;
        names_ += file;
        ends_.push_back(names_.size());
        labels_.push_back(static_cast<std::int32_t>(label));
        class_of_.push_back(static_cast<std::int32_t>(&name - classes_.data()));
      }
      if (!any)
        fail("a class without images", fmt::format("folder {} has no {}", name, ImageDecoder::kNames));
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
  void leave_out(const DamagedImages& damaged, const std::vector<std::string>& required) {
    std::string names;
    std::vector<std::size_t> ends;
    std::vector<std::int32_t> labels, class_of;
    std::set<std::string> left;
    for (std::int64_t index = 0; index < size(); ++index) {
      const std::string path = this->path(index);
      if (damaged.contain(path)) continue;
      names += fs::path(path).filename().string();
      ends.push_back(names.size());
      labels.push_back(labels_[index]);
      class_of.push_back(class_of_[index]);
      left.insert(classes_[class_of_[index]]);
    }
    for (const std::string& name : required)
      if (!left.contains(name))
        fail("a class without images", "all images of folder " + name + " are damaged");
    if (ends.empty()) fail("all images are damaged", "no image is left to test on");
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
  [[noreturn]] void fail(const std::string& what, const std::string& note, std::string help = "") const {
    throw Error(ExitCode::data,
                {Diagnostic{.what = what, .place = folder_, .notes = {note}, .help = std::move(help)}});
  }
  [[noreturn]] void fail_unknown_class(const std::string& name, const std::vector<std::string>& known) const {
    const fs::path folder = fs::path(folder_) / name;
    std::error_code ignored;
    const bool holds_classes = fs::is_directory(folder / known.front(), ignored);
    fail("a class that training lacks", fmt::format("folder {}", name),
         holds_classes ? folder.string() + " has the folders of classes" : "");
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

  std::string folder_, names_;
  std::vector<std::size_t> ends_;
  std::vector<std::int32_t> labels_, class_of_;
  std::vector<std::string> classes_;
};

class ImageFolder final : public ImageSamples {
 public:
  /// `names`: of all classes, sorted.
  ImageFolder(ImageList list, const std::vector<std::string>& names, const ImageForm& form,
              std::string help = "")
      : ImageSamples({.size = list.size(),
                      .sample = {},
                      .classes = static_cast<int>(names.size()),
                      .class_names = names},
                     form, std::move(help)),
        list_(std::move(list)) {}

  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    std::ranges::transform(indices, labels.begin(), [&](std::int64_t index) { return list_.label(index); });
  }

 private:
  std::string path(std::int64_t index) const override { return list_.path(index); }

  ImageList list_;
};

/// A folder of PNG, JPEG and WebP files for each class: the layout of ImageNet.
class ImageFolderReader final : public Reader {
 public:
  ImageFolderReader(const Config& config, const ReaderContext& context)
      : train_(fs::path(context.path) / config.get<std::string>("train")),
        form_(image_form(config)),
        learned_(context.learned) {
    // `train: .` is the folder itself, also in messages.
    if (train_.filename() == "." && train_.has_parent_path()) train_ = train_.parent_path();
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
    DataSource source{.name = "image_folder", .form = {.crop = form_.crop}};
    std::vector<ImageList> lists = list_images();
    const std::vector<std::string> names = lists.front().classes();
    if (form_.skips_damaged) {
      const DamagedImages damaged = learned_.empty() ? damaged_of(lists) : DamagedImages(learned_);
      lists.front().leave_out(damaged, names);
      if (lists.size() > 1) lists.back().leave_out(damaged, {});
      source.notice = damaged.notice();
    }
    for (ImageList& list : lists) {
      source.fingerprint.push_back(list.fingerprint());
      (source.train ? source.test : source.train) =
          std::make_unique<ImageFolder>(std::move(list), names, form_, help_for_damaged("image_folder"));
    }
    return source;
  }
  std::string learn() override { return form_.skips_damaged ? damaged_of(list_images()).text() : ""; }
  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override {
    given.require({"FOLDER"});
    return std::make_unique<ImageFolder>(ImageList(given.files.front(), given.trained.class_names),
                                         given.trained.class_names, form_);
  }

 private:
  /// Those of training, then those to test on.
  std::vector<ImageList> list_images() const {
    std::vector<ImageList> lists;
    lists.emplace_back(train_, std::vector<std::string>());
    if (!test_.empty()) lists.emplace_back(test_, lists.front().classes());
    return lists;
  }
  DamagedImages damaged_of(const std::vector<ImageList>& lists) const {
    DamagedImages damaged;
    for (const ImageList& list : lists)
      damaged.look_for(
          list.size(), [&](std::int64_t index) { return list.path(index); }, form_.extents);
    return damaged;
  }

  fs::path train_, test_;
  ImageForm form_;
  std::string learned_;
};

const Registry<Reader, const ReaderContext&>::Add image_folder_reader{
    {.name = "image_folder",
     .help = "PNG, JPEG and WebP files in a folder for each class, decoded at each read",
     .settings = with_image_settings(
         {text("train", "folder that holds the class folders of the training samples").fallback("train"),
          text("test", "folder that holds the class folders of the test samples; default: val, if it exists")
              .optional()})},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<ImageFolderReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
