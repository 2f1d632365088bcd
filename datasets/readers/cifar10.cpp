#include <fmt/format.h>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/pixels.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

constexpr int kClasses = 10;
constexpr std::int64_t kEdge = 32, kChannels = 3, kPixels = kEdge * kEdge * kChannels;
constexpr std::int64_t kRecord = 1 + kPixels;  // a label, then the image as (C, H, W)
constexpr std::int64_t kMostRecords = 10000;   // in one file

/// The images of one or more files, in order.
std::unique_ptr<Dataset> load(const std::vector<std::string>& paths, bool headers_only,
                              std::vector<std::string>& fingerprint) {
  std::vector<std::uint8_t> pixels, labels, record(kRecord);
  for (const std::string& path : paths) {
    ByteReader bytes(path);
    fingerprint.push_back(bytes.fingerprint());
    const std::int64_t count = bytes.size() / kRecord;
    if (bytes.size() % kRecord != 0 || count > kMostRecords)
      bytes.fail("not a CIFAR-10 batch",
                 fmt::format("it has {} bytes; a batch has {} for each of at most {} images", bytes.size(),
                             kRecord, kMostRecords));
    const std::size_t first = labels.size();
    labels.resize(first + static_cast<std::size_t>(count));
    if (headers_only) continue;
    pixels.resize(labels.size() * kPixels);
    for (std::size_t i = first; i < labels.size(); ++i) {
      bytes.read(record);
      if (record[0] >= kClasses)
        bytes.fail("label out of range", fmt::format("label {} is {}; the classes are 0 to {}", i - first,
                                                     record[0], kClasses - 1));
      labels[i] = record[0];
      channels_last(kChannels, kEdge * kEdge, record.data() + 1, pixels.data() + i * kPixels);
    }
    bytes.finish();
  }
  return std::make_unique<Pixels>(Shape{kEdge, kEdge, kChannels}, kClasses, std::move(pixels),
                                  std::move(labels));
}

/// CIFAR-10 (Krizhevsky 2009), binary version: whichever of its files are there, at least one to train on.
class Cifar10 final : public Reader {
 public:
  explicit Cifar10(const ReaderContext& context)
      : files_("cifar10",
               {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                "data_batch_5.bin", "test_batch.bin"},
               context.path),
        headers_only_(context.headers_only) {}

  bool missing(std::vector<std::string>& looked_for) const override {
    looked_for.push_back(files_.looked_for());
    return files_.missing();
  }

  DataSource open() override {
    std::vector<std::string> train;
    for (int batch = 1; batch <= 5; ++batch)
      if (const std::string path = files_.find(fmt::format("data_batch_{}.bin", batch)); !path.empty())
        train.push_back(path);
    if (train.empty()) train.push_back(files_.require("data_batch_1.bin"));
    DataSource source{.name = "cifar10"};
    source.train = load(train, headers_only_, source.fingerprint);
    if (const std::string path = files_.find("test_batch.bin"); !path.empty())
      source.test = load({path}, headers_only_, source.fingerprint);
    return source;
  }

 private:
  KnownFiles files_;
  bool headers_only_;
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "cifar10", .help = "colour photographs of 32x32 pixels in 10 classes, from its binary batches"},
    [](const Config&, const ReaderContext& context) { return std::make_unique<Cifar10>(context); }};

}  // namespace
}  // namespace trainer
