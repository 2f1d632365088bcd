#include "datasets/fetching/public_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/source.h"
#include "engine/config/synonyms.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

/// The four files of a dataset in the form of MNIST: training images, training labels, test images, test
/// labels.
struct IdxFile {
  std::int64_t bytes;
  const char* sha256;
};

std::vector<PublicFile> idx_files(const std::vector<std::string>& mirrors,
                                  const std::vector<IdxFile>& files) {
  constexpr const char* kNames[] = {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
                                    "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"};
  std::vector<PublicFile> all;
  for (std::size_t i = 0; i < files.size(); ++i) {
    PublicFile file{.name = kNames[i], .urls = mirrors, .bytes = files[i].bytes, .sha256 = files[i].sha256};
    for (std::string& url : file.urls) url += kNames[i];
    all.push_back(file);
  }
  return all;
}

PublicFile cifar_archive(const std::vector<std::string>& mirrors, const std::string& name, std::int64_t bytes,
                         const std::string& sha256, const std::vector<std::string>& members) {
  std::vector<std::string> urls = {"https://www.cs.toronto.edu/~kriz/" + name};
  for (const std::string& mirror : mirrors) urls.push_back(mirror + name);
  return {.name = name, .urls = urls, .bytes = bytes, .sha256 = sha256, .members = members};
}

/// A file of a GitHub repository, and of jsDelivr's copy of it. `owner` is "owner/name".
std::vector<std::string> github_urls(const std::string& owner, const std::string& commit,
                                     const std::string& path) {
  return {fmt::format("https://raw.githubusercontent.com/{}/{}/{}", owner, commit, path),
          fmt::format("https://cdn.jsdelivr.net/gh/{}@{}/{}", owner, commit, path)};
}

PublicFile table(const std::string& name, std::int64_t bytes, const std::string& sha256) {
  return {.name = name,
          .urls = github_urls("mwaskom/seaborn-data", "71e2436a092d714350de0fc409ca8a8714e7e78f", name),
          .bytes = bytes,
          .sha256 = sha256};
}

}  // namespace

// Sizes and SHA-256 are those that TensorFlow Datasets records for these addresses; of tables, those of the
// files at the commit that the address names.
std::span<const PublicSet> public_sets() {
  static const std::vector<PublicSet> kSets = {
      {.name = "mnist",
       .folder = "mnist",
       .help = "60,000 + 10,000 handwritten digits of 28x28 pixels",
       .config = "mnist",
       .files = idx_files({"https://ossci-datasets.s3.amazonaws.com/mnist/",
                           "https://storage.googleapis.com/cvdf-datasets/mnist/"},
                          {{9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
                           {28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
                           {1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
                           {4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}})},
      {.name = "fashion_mnist",
       .folder = "fashion_mnist",
       .help = "60,000 + 10,000 images of clothes of 28x28 pixels",
       .config = "fashion_mnist",
       .files = idx_files({"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                           "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"},
                          {{26421880, "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84"},
                           {29515, "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845"},
                           {4422102, "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073"},
                           {5148, "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5"}})},
      {.name = "kuzushiji_mnist",
       .folder = "kuzushiji_mnist",
       .help = "60,000 + 10,000 cursive Japanese characters of 28x28 pixels",
       .config = "kuzushiji_mnist",
       .files = idx_files({"http://codh.rois.ac.jp/kmnist/dataset/kmnist/"},
                          {{18165135, "51467d22d8cc72929e2a028a0428f2086b092bb31cfb79c69cc0a90ce135fde4"},
                           {29497, "e38f9ebcd0f3ebcdec7fc8eabdcdaef93bb0df8ea12bee65224341c8183d8e17"},
                           {3041136, "edd7a857845ad6bb1d0ba43fe7e794d164fe2dce499a1694695a792adfac43c5"},
                           {5120, "20bb9a0ef54c7db3efc55a92eef5582c109615df22683c380526788f98e42a1c"}})},
      {.name = "emnist",
       .folder = "idx",
       .help = "112,800 + 18,800 handwritten digits and letters of 28x28 pixels in 47 classes",
       .config = "{idx: {train_images: emnist-balanced-train-images-idx3-ubyte, "
                 "train_labels: emnist-balanced-train-labels-idx1-ubyte, "
                 "test_images: emnist-balanced-test-images-idx3-ubyte, "
                 "test_labels: emnist-balanced-test-labels-idx1-ubyte}}",
       .files = {{.name = "gzip.zip",
                  .urls = {"https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
                           "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/gzip.zip"},
                  .bytes = 561753746,
                  .sha256 = "fb9bb67e33772a9cc0b895e4ecf36d2cf35be8b709693c3564cea2a019fcda8e",
                  .members = {"emnist-balanced-train-images-idx3-ubyte.gz",
                              "emnist-balanced-train-labels-idx1-ubyte.gz",
                              "emnist-balanced-test-images-idx3-ubyte.gz",
                              "emnist-balanced-test-labels-idx1-ubyte.gz"}}}},
      {.name = "cifar10",
       .folder = "cifar10",
       .help = "50,000 + 10,000 colour images of 32x32 pixels in 10 classes",
       .config = "cifar10",
       .files = {cifar_archive({"https://storage.googleapis.com/s4tf-hosted-binaries/datasets/CIFAR10/"},
                               "cifar-10-binary.tar.gz", 170052171,
                               "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                               {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})}},
      {.name = "cifar100",
       .folder = "cifar100",
       .help = "50,000 + 10,000 colour images of 32x32 pixels in 100 classes",
       .config = "cifar100",
       .files = {cifar_archive({}, "cifar-100-binary.tar.gz", 168513733,
                               "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                               {"train.bin", "test.bin"})}},
      {.name = "iris",
       .folder = "csv",
       .help = "150 flowers: four lengths, three kinds",
       .config = "{csv: {train: iris.csv, target: species}}",
       .files = {table("iris.csv", 3858,
                       "9cc1c345c71bcc9b486b74cbf6063fa66f4bb5e0f603a4b3c3471ec2e5e8e355")}},
      {.name = "diamonds",
       .folder = "csv",
       .help = "53,940 diamonds: six numbers and three columns of text, and the price",
       .config = "{csv: {train: diamonds.csv, target: price, targets: numbers}}",
       .files = {table("diamonds.csv", 2772143,
                       "9574730b03aba241d899c4a97511c5061b19358fab89510774fb6c24168345c4")}},
      {.name = "tinyshakespeare",
       .folder = "text",
       .help = "1.1 MB of Shakespeare's plays",
       .config = "{text: {file: tinyshakespeare.txt}}",
       .files = {{.name = "tinyshakespeare.txt",
                  .urls = github_urls("karpathy/char-rnn", "master", "data/tinyshakespeare/input.txt"),
                  .bytes = 1115394,
                  .sha256 = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"}}},
  };
  return kSets;
}

const PublicSet& find_public_set(std::string_view name) {
  const auto sets = public_sets();
  std::vector<std::string> names;
  for (const PublicSet& set : sets) names.push_back(set.name);
  const Meaning meant = meaning_of("dataset", name, names);
  const bool is_synonym = meant.is_certain() && !meant.name.empty();
  const auto found = std::ranges::find(sets, is_synonym ? meant.name : name, &PublicSet::name);
  if (found != sets.end()) return *found;
  const auto longer =
      std::ranges::find_if(names, [&](const std::string& one) { return one.ends_with(name); });
  throw Error(
      ExitCode::usage,
      {Diagnostic{.what = fmt::format("there is no dataset {} to fetch", in_quotes(name)),
                  .notes = {"there are " + listed(names)},
                  .help = longer == names.end() ? meant.hint : "did you mean " + in_quotes(*longer) + "?"}});
}

}  // namespace trainer
