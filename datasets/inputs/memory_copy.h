#pragma once

#include <string>

#include "datasets/inputs/input_text.h"
#include "engine/system/files.h"

namespace trainer {

/// What comes from a pipe as a file in memory, for readers that need a path.
class MemoryCopy {
 public:
  /// Reads all of `input`. Error(failure) if there is no memory for it.
  explicit MemoryCopy(InputText& input);
  const std::string& path() const { return path_; }

 private:
  Descriptor file_;
  std::string path_;
};

}  // namespace trainer
