#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace trainer {

/// Where a list of images has paths and labels.
struct ImageListForm {
  std::string file = "file";  ///< column or key of the image's path
  /// Column or key of the labels. Several: columns of 0 and 1, one for each class.
  std::vector<std::string> labels{"label"};
  std::string label_separator{};  ///< between the labels of one field; empty: a field is one label
};

/// A list of image files with their labels, read whole: CSV with a header, or JSON lines, plain or .gz. Paths
/// are relative to the folder of the list.
struct ImageListFile {
  std::string path{}, fingerprint{};
  bool has_several_labels = false;        ///< an image has any number of labels, else one
  std::vector<std::string> classes{};     ///< distinct labels in their order, or ImageListForm::labels
  std::string names{};                    ///< paths of all images, one after the other
  std::vector<std::size_t> name_ends{};   ///< of each image in `names`
  std::vector<std::int32_t> labels{};     ///< of all images, into `classes`
  std::vector<std::size_t> label_ends{};  ///< of each image in `labels`
  std::vector<std::int64_t> lines{};      ///< of each image, from 1

  std::int64_t size() const { return static_cast<std::int64_t>(lines.size()); }
  std::string image(std::int64_t index) const;
};

/// `expected`: the classes of training; empty: those of the file. Error(data) with the line if the file is
/// damaged, a label is missing, an image has several where one is expected, or `expected` lacks a class.
ImageListFile read_image_list(const std::string& path, const ImageListForm& form,
                              const std::vector<std::string>& expected);

}  // namespace trainer
