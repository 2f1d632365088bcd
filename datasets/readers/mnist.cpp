#include "datasets/readers/idx_set.h"
#include "datasets/readers/known_files.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// MNIST (LeCun, Cortes and Burges), or any set under its file names.
class Mnist final : public Reader {
 public:
  explicit Mnist(const ReaderContext& context)
      : files_("mnist",
               {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                "t10k-labels-idx1-ubyte"},
               context.path) {}

  bool missing(std::vector<std::string>& looked_for) const override {
    looked_for.push_back(files_.looked_for());
    return files_.missing();
  }
  DataSource open() override {
    const IdxPaths train{files_.require("train-images-idx3-ubyte"),
                         files_.require("train-labels-idx1-ubyte")};
    const IdxPaths test{files_.require("t10k-images-idx3-ubyte"), files_.require("t10k-labels-idx1-ubyte")};
    constexpr int kClasses = 10;
    return open_idx_set("mnist", train, test, kClasses);
  }

 private:
  KnownFiles files_;
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "mnist",
     .help = "60,000 + 10,000 handwritten digits of 28x28 pixels, from their four IDX files"},
    [](const Config&, const ReaderContext& context) { return std::make_unique<Mnist>(context); }};

}  // namespace
}  // namespace trainer
