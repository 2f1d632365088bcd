#include <fmt/format.h>

#include <array>
#include <memory>
#include <vector>

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

/// One or more batches, in order.
class Cifar10Files final : public PixelFiles {
 public:
  Cifar10Files(const std::vector<std::string>& paths, std::vector<std::string>& fingerprint) {
    for (const std::string& path : paths) {
      const ByteReader& bytes = *files_.emplace_back(std::make_unique<ByteReader>(path));
      fingerprint.push_back(bytes.fingerprint());
      const std::int64_t count = bytes.size() / kRecord;
      if (bytes.size() % kRecord != 0 || count > kMostRecords)
        bytes.fail("not a CIFAR-10 batch",
                   fmt::format("it has {} bytes; a batch has {} for each of at most {} images", bytes.size(),
                               kRecord, kMostRecords));
      count_ += count;
    }
  }

  std::int64_t count() const override { return count_; }
  void read(std::span<std::uint8_t> labels, std::span<std::uint8_t> pixels) override {
    std::array<std::uint8_t, kRecord> record;
    auto label = labels.begin();
    std::uint8_t* image = pixels.data();
    for (const auto& bytes : files_) {
      const std::int64_t count = bytes->size() / kRecord;
      for (std::int64_t i = 0; i < count; ++i) {
        bytes->read(record);
        if (record[0] >= kClasses)
          bytes->fail("label out of range",
                      fmt::format("label {} is {}; the classes are 0 to {}", i, record[0], kClasses - 1));
        *label++ = record[0];
        channels_last(kChannels, kEdge * kEdge, record.data() + 1, image);
        image += kPixels;
      }
      bytes->finish();
    }
  }

 private:
  std::vector<std::unique_ptr<ByteReader>> files_;
  std::int64_t count_ = 0;
};

std::unique_ptr<Dataset> open_files(const std::vector<std::string>& paths,
                                    std::vector<std::string>& fingerprint) {
  return std::make_unique<Pixels>(Shape{kEdge, kEdge, kChannels}, kClasses,
                                  std::make_unique<Cifar10Files>(paths, fingerprint));
}

/// CIFAR-10 (Krizhevsky 2009), binary version: whichever of its files are there, at least one to train on.
class Cifar10 final : public Reader {
 public:
  explicit Cifar10(const ReaderContext& context)
      : files_("cifar10",
               {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                "data_batch_5.bin", "test_batch.bin"},
               context.path) {}

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
    source.train = open_files(train, source.fingerprint);
    if (const std::string path = files_.find("test_batch.bin"); !path.empty())
      source.test = open_files({path}, source.fingerprint);
    return source;
  }

 private:
  KnownFiles files_;
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "cifar10", .help = "colour photographs of 32x32 pixels in 10 classes, from its binary batches"},
    [](const Config&, const ReaderContext& context) { return std::make_unique<Cifar10>(context); }};

}  // namespace
}  // namespace trainer
