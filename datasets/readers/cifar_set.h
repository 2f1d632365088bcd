#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Where both datasets can be downloaded.
inline constexpr const char* kCifarSource = "https://www.cs.toronto.edu/~kriz/cifar.html (binary version)";

/// The binary form of CIFAR: records of labels and a 32x32 image.
struct CifarForm {
  const char* name = "";                          ///< for messages: "CIFAR-10"
  std::int64_t most_records = 0;                  ///< in one file
  int labels = 1;                                 ///< bytes of labels in a record
  int label = 0;                                  ///< index of the label that is used
  std::vector<std::vector<std::string>> classes;  ///< of each label, their names
};

/// Opens a split: the records of `paths`, in order. Adds the files to `fingerprint`.
std::unique_ptr<Dataset> open_cifar(const CifarForm& form, const std::vector<std::string>& paths,
                                    std::vector<std::string>& fingerprint);

}  // namespace trainer
