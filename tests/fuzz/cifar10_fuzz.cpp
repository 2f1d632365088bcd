// One batch of CIFAR-10.
#include <filesystem>
#include <vector>

#include "datasets/dataset.h"
#include "engine/config/config_tree.h"
#include "engine/config/registry.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// A folder in which the reader finds the input under the name of a batch.
struct BatchFolder {
  BatchFolder() { std::filesystem::create_symlink(file.path(), folder.path() / "data_batch_1.bin"); }

  MemoryFile file;
  TemporaryFolder folder;
};

const FuzzTarget target{
    "cifar10", [](FuzzInput input) {
      static BatchFolder batch;
      static const ConfigTree config = ConfigTree::member("dataset", "cifar10");
      batch.file.hold(input);
      const auto reader = Registry<Reader, const ReaderContext&>::make(
          config.root(), ReaderContext{.path = batch.folder.path().string(), .seed = 1});
      const DataSource source = reader->open();
      std::vector<std::uint8_t> memory(static_cast<std::size_t>(source.train->stored_bytes()));
      source.train->fill(memory);
      source.train->attach(memory);
      for (std::int64_t i = 0; i < source.train->size(); ++i)
        expect(source.train->label(i) < source.train->classes(), "a label beyond the classes");
    }};

}  // namespace
}  // namespace trainer
