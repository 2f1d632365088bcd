#include "datasets/readers/idx_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "datasets/readers/idx_file.h"
#include "datasets/readers/pixels.h"

namespace trainer {
namespace {

/// The files of a split. Headers are compared before images are read.
class IdxSplit final : public PixelFiles {
 public:
  explicit IdxSplit(const IdxPaths& paths)
      : images_(paths.images, IdxFile::Content::images), label_file_(paths.labels, IdxFile::Content::labels) {
    if (images_.count() != label_file_.count())
      label_file_.fail(
          "labels and images differ in number",
          fmt::format("{} labels here, {} images in {}", label_file_.count(), images_.count(), paths.images));
    // The labels determine the number of classes.
    labels_ = label_file_.elements();
  }

  /// (H, W, C)
  Shape sample() const {
    const auto& extents = images_.extents();
    return extents.size() == 4 ? Shape{extents[2], extents[3], extents[1]} : Shape{extents[1], extents[2], 1};
  }
  int largest_label() const { return *std::max_element(labels_.begin(), labels_.end()); }
  void check_labels(int classes) const {
    const auto bad =
        std::find_if(labels_.begin(), labels_.end(), [&](std::uint8_t label) { return label >= classes; });
    if (bad != labels_.end())
      label_file_.fail("label out of range", fmt::format("label {} is {}; the classes are 0 to {}",
                                                         bad - labels_.begin(), *bad, classes - 1));
  }
  void check_sample(const Shape& expected) const {
    if (sample() != expected)
      images_.fail("test images differ in shape from training images",
                   fmt::format("{} here, {} in training", channels_first_text(sample()),
                               channels_first_text(expected)));
  }
  void add_fingerprints(std::vector<std::string>& fingerprint) const {
    fingerprint.push_back(images_.fingerprint());
    fingerprint.push_back(label_file_.fingerprint());
  }

  std::int64_t count() const override { return images_.count(); }
  void read(std::span<std::uint8_t> labels, std::span<std::uint8_t> pixels) override {
    std::ranges::copy(labels_, labels.begin());
    images_.read(pixels);
    const std::int64_t channels = sample()[2];
    if (channels == 1) return;
    std::vector<std::uint8_t> image(sample().size());
    for (std::size_t first = 0; first < pixels.size(); first += image.size()) {
      std::copy_n(pixels.data() + first, image.size(), image.data());
      channels_last(channels, std::ssize(image) / channels, image.data(), pixels.data() + first);
    }
  }

 private:
  IdxFile images_, label_file_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace

DataSource open_idx_set(const std::string& name, const IdxPaths& train_paths, const IdxPaths& test_paths,
                        int classes) {
  DataSource source{.name = name};
  auto train = std::make_unique<IdxSplit>(train_paths);
  train->add_fingerprints(source.fingerprint);
  if (classes == 0) classes = train->largest_label() + 1;
  train->check_labels(classes);
  const Shape sample = train->sample();
  if (!test_paths.images.empty()) {
    auto test = std::make_unique<IdxSplit>(test_paths);
    test->add_fingerprints(source.fingerprint);
    test->check_sample(sample);
    test->check_labels(classes);
    source.test = std::make_unique<Pixels>(sample, classes, std::move(test));
  }
  source.train = std::make_unique<Pixels>(sample, classes, std::move(train));
  return source;
}

std::unique_ptr<Dataset> open_given_idx(const GivenFiles& given) {
  given.require({"IMAGES", "LABELS"});
  auto split = std::make_unique<IdxSplit>(IdxPaths{given.files[0], given.files[1]});
  split->check_labels(given.trained.classes);
  const Shape sample = split->sample();
  return std::make_unique<Pixels>(sample, given.trained.classes, std::move(split));
}

}  // namespace trainer
