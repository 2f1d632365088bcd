// An HDF5 file: all of its datasets, whole and row by row.
#include <algorithm>
#include <optional>
#include <vector>

#include "datasets/readers/hdf5_dataset.h"
#include "datasets/readers/npy_array.h"
#include "engine/core/error.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

void read_dataset(const std::string& path, const std::string& name) {
  constexpr std::int64_t kMost = 1 << 20;  // elements
  NpyArray array(hdf5_stream(path, name));
  if (array.shape().size() > kMost) return;
  std::vector<float> values(static_cast<std::size_t>(array.shape().size()));
  array.read(values);
  if (array.shape().rank() == 0) return;
  std::vector<float> row(values.size() / static_cast<std::size_t>(array.shape()[0]));
  const std::int64_t last = array.shape()[0] - 1;
  array.read_row(last, row);
  expect(std::equal(row.begin(), row.end(), values.end() - std::ssize(row)),
         "a row differs from that of the whole");
}

const FuzzTarget target{"hdf5", [](FuzzInput input) {
                          static MemoryFile file;
                          file.hold(input);
                          std::optional<Error> last;  // behind a damaged dataset, others may be whole
                          for (const std::string& name : Hdf5File(file.path()).datasets()) {
                            try {
                              read_dataset(file.path(), name);
                            } catch (const Error& error) {
                              last = error;
                            }
                          }
                          if (last) throw Error(*last);
                        }};

}  // namespace
}  // namespace trainer
