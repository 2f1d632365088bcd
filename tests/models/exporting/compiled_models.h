#pragma once

#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace trainer {

/// C files of models, compiled into a library with the warnings of C99 as errors, and loaded.
class CompiledModels {
 public:
  /// Error of the test if the compiler reports anything.
  explicit CompiledModels(const std::vector<std::string>& files);
  ~CompiledModels();
  CompiledModels(const CompiledModels&) = delete;
  CompiledModels& operator=(const CompiledModels&) = delete;

  /// What a file's predict() gives for consecutive samples.
  std::vector<float> predict(std::size_t file, const std::vector<float>& samples, std::size_t inputs,
                             std::size_t outputs) const;

 private:
  TemporaryFolder folder_;
  void* library_ = nullptr;
};

}  // namespace trainer
