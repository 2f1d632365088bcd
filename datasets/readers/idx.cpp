#include <filesystem>

#include "datasets/readers/idx_set.h"
#include "datasets/readers/known_files.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// Images and labels in IDX files of unsigned bytes.
class Idx final : public Reader {
 public:
  Idx(const Config& config, const ReaderContext& context) {
    if (config.has("test_images") != config.has("test_labels"))
      config.fail(config.has("test_images") ? "test_images" : "test_labels",
                  "test images and test labels go together", "give both, or neither");
    const std::filesystem::path directory =
        directory_of("idx", config.get<std::string>("train_images"), context.path);
    const auto path = [&](std::string_view key) {
      return (directory / config.get<std::string>(key)).string();
    };
    train_ = {path("train_images"), path("train_labels")};
    if (config.has("test_images")) test_ = {path("test_images"), path("test_labels")};
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    bool none = true;
    for (const std::string* path : {&train_.images, &train_.labels, &test_.images, &test_.labels}) {
      if (path->empty()) continue;
      looked_for.push_back(*path + "[.gz]");
      none = none && existing_file(*path).empty();
    }
    return none;
  }
  DataSource open() override {
    constexpr int kFromLabels = 0;
    return open_idx_set("idx", existing(train_), existing(test_), kFromLabels);
  }
  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override { return open_given_idx(given); }

 private:
  /// The paths of existing files, plain or .gz; paths of absent files stay as they are.
  static IdxPaths existing(IdxPaths paths) {
    for (std::string* path : {&paths.images, &paths.labels})
      if (const std::string found = path->empty() ? "" : existing_file(*path); !found.empty()) *path = found;
    return paths;
  }

  IdxPaths train_, test_;
};

const Registry<Reader, const ReaderContext&>::Add idx_reader{
    {.name = "idx",
     .help = "images and labels in IDX files of unsigned bytes, plain or .gz",
     .settings = {text("train_images",
                       "file of training images, (count, height, width) or (count, channels, height, width)"),
                  text("train_labels", "file of training labels, (count), classes counted from 0"),
                  text("test_images", "file of test images").optional(),
                  text("test_labels", "file of test labels").optional()}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<Idx>(config, context);
    }};

}  // namespace
}  // namespace trainer
