#include <fmt/format.h>

#include "datasets/readers/cifar_set.h"
#include "datasets/readers/known_files.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

const std::vector<std::string> kClasses{"airplane", "automobile", "bird",  "cat",  "deer",
                                        "dog",      "frog",       "horse", "ship", "truck"};

/// CIFAR-10 (Krizhevsky 2009), binary version. Batches may be absent, but for one of training.
class Cifar10 final : public KnownSet {
 public:
  explicit Cifar10(const ReaderContext& context)
      : KnownSet(KnownFiles("cifar10",
                            {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                             "data_batch_5.bin", "test_batch.bin"},
                            context.path),
                 kCifarSource) {}

  DataSource open() override {
    std::vector<std::string> train;
    for (int batch = 1; batch <= 5; ++batch)
      if (const std::string path = files_.find(fmt::format("data_batch_{}.bin", batch)); !path.empty())
        train.push_back(path);
    if (train.empty()) train.push_back(files_.require("data_batch_1.bin"));
    const CifarForm form{.name = "CIFAR-10", .most_records = 10000, .classes = {kClasses}};
    DataSource source{.name = "cifar10"};
    source.train = open_cifar(form, train, source.fingerprint);
    if (const std::string path = files_.find("test_batch.bin"); !path.empty())
      source.test = open_cifar(form, {path}, source.fingerprint);
    return source;
  }
};

const Registry<Reader, const ReaderContext&>::Add cifar10_reader{
    {.name = "cifar10", .help = "colour photographs of 32x32 pixels in 10 classes, from the binary version"},
    [](const Config&, const ReaderContext& context) { return std::make_unique<Cifar10>(context); }};

}  // namespace
}  // namespace trainer
