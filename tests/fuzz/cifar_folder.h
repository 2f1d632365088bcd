#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "engine/config/config_tree.h"
#include "engine/config/registry.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"
#include "tests/support/temporary_folder.h"

namespace trainer {

/// A folder in which the reader of a set finds the input under the names of its files.
class CifarFolder {
 public:
  CifarFolder(const std::string& dataset, const std::vector<std::string>& names)
      : config_(ConfigTree::member("dataset", dataset)) {
    for (const std::string& name : names)
      std::filesystem::create_symlink(file_.path(), folder_.path() / name);
  }

  void read(FuzzInput input) {
    file_.hold(input);
    const auto reader = Registry<Reader, const ReaderContext&>::make(
        config_.root(), ReaderContext{.path = folder_.path().string(), .seed = 1});
    const DataSource source = reader->open();
    std::vector<std::uint8_t> memory(static_cast<std::size_t>(source.train->stored_bytes()));
    source.train->fill(memory);
    source.train->attach(memory);
    for (std::int64_t i = 0; i < source.train->size(); ++i)
      expect(source.train->label(i) < source.train->classes(), "a label beyond the classes");
  }

 private:
  ConfigTree config_;
  MemoryFile file_;
  TemporaryFolder folder_;
};

}  // namespace trainer
