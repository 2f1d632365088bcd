#include "datasets/readers/cifar_set.h"
#include "datasets/readers/known_files.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

const std::vector<std::string> kCoarse{"aquatic_mammals",
                                       "fish",
                                       "flowers",
                                       "food_containers",
                                       "fruit_and_vegetables",
                                       "household_electrical_devices",
                                       "household_furniture",
                                       "insects",
                                       "large_carnivores",
                                       "large_man-made_outdoor_things",
                                       "large_natural_outdoor_scenes",
                                       "large_omnivores_and_herbivores",
                                       "medium_mammals",
                                       "non-insect_invertebrates",
                                       "people",
                                       "reptiles",
                                       "small_mammals",
                                       "trees",
                                       "vehicles_1",
                                       "vehicles_2"};

const std::vector<std::string> kFine{
    "apple",      "aquarium_fish", "baby",         "bear",       "beaver",      "bed",         "bee",
    "beetle",     "bicycle",       "bottle",       "bowl",       "boy",         "bridge",      "bus",
    "butterfly",  "camel",         "can",          "castle",     "caterpillar", "cattle",      "chair",
    "chimpanzee", "clock",         "cloud",        "cockroach",  "couch",       "crab",        "crocodile",
    "cup",        "dinosaur",      "dolphin",      "elephant",   "flatfish",    "forest",      "fox",
    "girl",       "hamster",       "house",        "kangaroo",   "keyboard",    "lamp",        "lawn_mower",
    "leopard",    "lion",          "lizard",       "lobster",    "man",         "maple_tree",  "motorcycle",
    "mountain",   "mouse",         "mushroom",     "oak_tree",   "orange",      "orchid",      "otter",
    "palm_tree",  "pear",          "pickup_truck", "pine_tree",  "plain",       "plate",       "poppy",
    "porcupine",  "possum",        "rabbit",       "raccoon",    "ray",         "road",        "rocket",
    "rose",       "sea",           "seal",         "shark",      "shrew",       "skunk",       "skyscraper",
    "snail",      "snake",         "spider",       "squirrel",   "streetcar",   "sunflower",   "sweet_pepper",
    "table",      "tank",          "telephone",    "television", "tiger",       "tractor",     "train",
    "trout",      "tulip",         "turtle",       "wardrobe",   "whale",       "willow_tree", "wolf",
    "woman",      "worm"};

/// CIFAR-100 (Krizhevsky 2009), binary version: each image has a coarse and a fine label.
class Cifar100 final : public KnownSet {
 public:
  Cifar100(const Config& config, const ReaderContext& context)
      : KnownSet(KnownFiles("cifar100", {"train.bin", "test.bin"}, context.path), kCifarSource),
        form_{.name = "CIFAR-100",
              .most_records = 50000,
              .labels = 2,
              .label = config.get<std::string>("labels") == "fine" ? 1 : 0,
              .classes = {kCoarse, kFine}} {}

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
