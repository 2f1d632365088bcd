#include "models/formats/npz.h"

#include <catch2/catch.hpp>

#include "datasets/readers/npy_array.h"
#include "datasets/readers/zip_file.h"
#include "tests/support/small_data.h"
#include "tests/support/temporary_folder.h"

namespace trainer {

TEST_CASE("tensors come back from an .npz file with their names, shapes and bits", "[formats]") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors{{"conv1.weight", {2, 3}, {1, -2.5f, 3e-30f, 4, 5, 6}},
                                         {"norm.bias", {1}, {0.1f}},
                                         {"a/b", {2, 1, 2}, {7, 8, 9, 10}}};
  const std::string path = (folder.path() / "weights.npz").string();
  write_text(path, npz_file(tensors));
  const ZipFile zip(path);
  REQUIRE(zip.entries().size() == tensors.size());
  for (const NamedTensor& tensor : tensors) {
    INFO(tensor.name);
    NpyArray array(zip.open(tensor.name + ".npy"));
    CHECK(array.shape() == tensor.shape);
    CHECK_FALSE(array.is_integer());
    std::vector<float> values(tensor.values.size());
    array.read(values);  // checks the sum of the entry, too
    CHECK(values == tensor.values);
  }
}

}  // namespace trainer
