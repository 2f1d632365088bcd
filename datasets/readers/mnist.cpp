#include "datasets/readers/idx_set.h"
#include "datasets/readers/known_files.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// MNIST (LeCun, Cortes and Burges) and the datasets with its format and file names.
class Mnist final : public KnownSet {
 public:
  Mnist(const std::string& name, const std::string& source, KnownFiles::Where where,
        const ReaderContext& context)
      : KnownSet(KnownFiles(name,
                            {"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte",
                             "t10k-labels-idx1-ubyte"},
                            context.path, where),
                 source),
        name_(name) {}

  DataSource open() override {
    const IdxPaths train{files_.require("train-images-idx3-ubyte"),
                         files_.require("train-labels-idx1-ubyte")};
    const IdxPaths test{files_.require("t10k-images-idx3-ubyte"), files_.require("t10k-labels-idx1-ubyte")};
    constexpr int kClasses = 10;
    return open_idx_set(name_, train, test, kClasses);
  }
  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override { return open_given_idx(given); }

 private:
  std::string name_;
};

using Sets = Registry<Reader, const ReaderContext&>;

const Sets::Add mnist{
    {.name = "mnist", .help = "60,000 + 10,000 handwritten digits of 28x28 pixels, from four IDX files"},
    [](const Config&, const ReaderContext& context) {
      return std::make_unique<Mnist>("mnist", "https://ossci-datasets.s3.amazonaws.com/mnist/",
                                     KnownFiles::Where::either, context);
    }};
const Sets::Add fashion_mnist{
    {.name = "fashion_mnist",
     .help = "60,000 + 10,000 images of clothes, in the format and with the file names of MNIST"},
    [](const Config&, const ReaderContext& context) {
      return std::make_unique<Mnist>("fashion_mnist", "https://github.com/zalandoresearch/fashion-mnist",
                                     KnownFiles::Where::own_folder, context);
    }};
const Sets::Add kuzushiji_mnist{
    {.name = "kuzushiji_mnist",
     .help = "60,000 + 10,000 cursive Japanese characters, in the format and with the file names of MNIST"},
    [](const Config&, const ReaderContext& context) {
      return std::make_unique<Mnist>("kuzushiji_mnist", "https://github.com/rois-codh/kmnist",
                                     KnownFiles::Where::own_folder, context);
    }};

}  // namespace
}  // namespace trainer
