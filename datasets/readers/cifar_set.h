#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace trainer {

/// Where both sets can be had.
inline constexpr const char* kCifarSource = "https://www.cs.toronto.edu/~kriz/cifar.html (binary version)";

/// The binary form of CIFAR: records of one or two labels and a 32x32 image.
struct CifarForm {
  const char* name = "";          ///< as people write it: "CIFAR-10"
  std::int64_t most_records = 0;  ///< in one file
  int labels = 1;                 ///< bytes of labels in a record
  int label = 0;                  ///< which of them is wanted
  std::vector<int> classes;       ///< of each
};

/// One split: the records of these files, in order. Adds to the fingerprint.
std::unique_ptr<Dataset> open_cifar(const CifarForm& form, const std::vector<std::string>& paths,
                                    std::vector<std::string>& fingerprint);

}  // namespace trainer
