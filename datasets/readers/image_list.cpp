#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "datasets/readers/damaged_images.h"
#include "datasets/readers/image_list_file.h"
#include "datasets/readers/image_samples.h"
#include "datasets/readers/known_files.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Images that a list names, with one label each, or with a 1 for each of their labels among 0s.
class ListedImages final : public ImageSamples {
 public:
  ListedImages(ImageListFile list, std::vector<std::int64_t> images, const ImageForm& form,
               std::string help = "")
      : ImageSamples(info_of(list, std::ssize(images)), form, std::move(help)),
        list_(std::move(list)),
        images_(std::move(images)) {}

  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    std::ranges::transform(indices, labels.begin(),
                           [&](std::int64_t index) { return labels_of(index).front(); });
  }
  void read_targets(std::span<const std::int64_t> indices, Tensor values) const override {
    std::ranges::fill(values.span(), 0.0f);
    for (std::size_t row = 0; row < indices.size(); ++row)
      for (const std::int32_t label : labels_of(indices[row]))
        values.data()[static_cast<std::int64_t>(row) * values.row_size() + label] = 1;
  }

 private:
  static DatasetInfo info_of(const ImageListFile& list, std::int64_t size) {
    DatasetInfo info{.size = size, .sample = {}, .class_names = list.classes};
    if (list.has_several_labels)
      info.target = {std::ssize(list.classes)};
    else
      info.classes = static_cast<int>(list.classes.size());
    return info;
  }
  std::string path(std::int64_t index) const override { return list_.image(images_[index]); }
  std::span<const std::int32_t> labels_of(std::int64_t index) const {
    const std::int64_t image = images_[index];
    const std::size_t begin = image == 0 ? 0 : list_.label_ends[image - 1];
    return std::span(list_.labels).subspan(begin, list_.label_ends[image] - begin);
  }

  ImageListFile list_;
  std::vector<std::int64_t> images_;  ///< those that are not left out
};

/// Image files and labels that a table or JSON lines name.
class ImageListReader final : public Reader {
 public:
  ImageListReader(const Config& config, const ReaderContext& context)
      : form_(image_form(config)),
        list_form_{.file = config.get<std::string>("file"),
                   .labels = labels_of(config.at("label")),
                   .label_separator =
                       config.has("label_separator") ? config.get<std::string>("label_separator") : ""},
        learned_(context.learned) {
    if (list_form_.labels.empty()) config.fail("label", "names no column");
    if (list_form_.labels.size() > 1 && !list_form_.label_separator.empty())
      config.fail("label_separator", "`label` names a column of 0 and 1 for each class",
                  "one column in `label`, or no `label_separator`");
    const std::filesystem::path directory =
        directory_of("image_list", config.get<std::string>("train"), context.path);
    files_.push_back((directory / config.get<std::string>("train")).string());
    if (config.has("test")) files_.push_back((directory / config.get<std::string>("test")).string());
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    for (const std::string& file : files_) looked_for.push_back(file + "[.gz]");
    return std::ranges::all_of(files_, [](const std::string& file) { return existing_file(file).empty(); });
  }
  DataSource open() override {
    std::vector<ImageListFile> lists = read_lists();
    DataSource source{.name = "image_list", .form = {.crop = form_.crop}};
    DamagedImages damaged;
    if (form_.skips_damaged) damaged = learned_.empty() ? damaged_of(lists) : DamagedImages(learned_);
    source.notice = damaged.notice();
    for (ImageListFile& list : lists) {
      source.fingerprint.push_back(list.fingerprint);
      std::vector<std::int64_t> images = without(damaged, list);
      if (images.empty())
        throw Error(ExitCode::data, {Diagnostic{.what = "all images are damaged", .place = list.path}});
      (source.train ? source.test : source.train) = std::make_unique<ListedImages>(
          std::move(list), std::move(images), form_, help_for_damaged("image_list"));
    }
    return source;
  }
  std::string learn() override { return form_.skips_damaged ? damaged_of(read_lists()).text() : ""; }
  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override {
    given.require({"LIST"});
    ImageListFile list = read_image_list(given.files.front(), list_form_, given.trained.class_names);
    std::vector<std::int64_t> images = without({}, list);
    return std::make_unique<ListedImages>(std::move(list), std::move(images), form_);
  }

 private:
  static std::vector<std::string> labels_of(const Config& config) {
    if (config.type() == "columns") return config.value<std::vector<std::string>>();
    return {config.value<std::string>()};
  }
  /// That of training, then that to test on.
  std::vector<ImageListFile> read_lists() const {
    std::vector<ImageListFile> lists;
    for (const std::string& file : files_) {
      const std::string existing = existing_file(file);
      lists.push_back(read_image_list(existing.empty() ? file : existing, list_form_,
                                      lists.empty() ? std::vector<std::string>() : lists.front().classes));
      if (lists.back().has_several_labels != lists.front().has_several_labels)
        throw Error(ExitCode::data, {Diagnostic{.what = "lists of labels in one of the files alone",
                                                .place = lists.back().path}});
    }
    return lists;
  }
  DamagedImages damaged_of(const std::vector<ImageListFile>& lists) const {
    DamagedImages damaged;
    for (const ImageListFile& list : lists)
      damaged.look_for(
          list.size(), [&](std::int64_t index) { return list.image(index); }, form_.extents);
    return damaged;
  }
  static std::vector<std::int64_t> without(const DamagedImages& damaged, const ImageListFile& list) {
    std::vector<std::int64_t> images;
    for (std::int64_t index = 0; index < list.size(); ++index)
      if (!damaged.contain(list.image(index))) images.push_back(index);
    return images;
  }

  ImageForm form_;
  ImageListForm list_form_;
  std::string learned_;
  std::vector<std::string> files_;
};

const Registry<Reader, const ReaderContext&>::Add image_list_reader{
    {.name = "image_list",
     .help = "PNG, JPEG and WebP files that a list names with their labels, decoded at each read: CSV with a "
             "header, or JSON lines; plain or .gz",
     .settings = with_image_settings(
         {text("train", "list of the training images; paths in it are relative to its folder"),
          text("test",
               "list of the test images; without it, data.validation takes some of the training images")
              .optional(),
          text("file", "column, or key of a JSON line, that holds the image's path").fallback("file"),
          either("label", "column, or key of a JSON line, that holds the label",
                 {text("column", "one label; in JSON lines also a list of labels"),
                  list_of("columns", "several columns of 0 and 1, one for each class",
                          text("", "name of a column, and of its class"))})
              .fallback("label"),
          text("label_separator", "text between the labels of an image, which may have any number of them")
              .optional()})},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<ImageListReader>(config, context);
    }};

}  // namespace
}  // namespace trainer
