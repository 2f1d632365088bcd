#include "datasets/readers/cifar_set.h"
#include "datasets/readers/known_files.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

/// CIFAR-100 (Krizhevsky 2009), binary version: each image has a coarse and a fine label.
class Cifar100 final : public KnownSet {
 public:
  Cifar100(const Config& config, const ReaderContext& context)
      : KnownSet(KnownFiles("cifar100", {"train.bin", "test.bin"}, context.path), kCifarSource),
        form_{.name = "CIFAR-100",
              .most_records = 50000,
              .labels = 2,
              .label = config.get<std::string>("labels") == "fine" ? 1 : 0,
              .classes = {20, 100}} {}

  DataSource open() override {
    DataSource source{.name = "cifar100"};
    source.train = open_cifar(form_, {files_.require("train.bin")}, source.fingerprint);
    source.test = open_cifar(form_, {files_.require("test.bin")}, source.fingerprint);
    return source;
  }

 private:
  CifarForm form_;
};

const Registry<Reader, const ReaderContext&>::Add cifar100_reader{
    {.name = "cifar100",
     .help = "colour photographs of 32x32 pixels in 100 classes, from the binary version",
     .primary = "labels",
     .settings = {choice("labels", "fine: 100 classes; coarse: 20 superclasses", {"fine", "coarse"})
                      .fallback("fine")}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<Cifar100>(config, context);
    }};

}  // namespace
}  // namespace trainer
