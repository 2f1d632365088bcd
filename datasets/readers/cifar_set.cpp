#include "datasets/readers/cifar_set.h"

#include <fmt/format.h>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/pixels.h"

namespace trainer {
namespace {

constexpr std::int64_t kEdge = 32, kChannels = 3, kPixels = kEdge * kEdge * kChannels;

/// The files of a split, in order.
class CifarFiles final : public PixelFiles {
 public:
  CifarFiles(const CifarForm& form, const std::vector<std::string>& paths,
             std::vector<std::string>& fingerprint)
      : form_(form), record_(form.labels + kPixels) {
    for (const std::string& path : paths) {
      const ByteReader& bytes = *files_.emplace_back(std::make_unique<ByteReader>(path));
      fingerprint.push_back(bytes.fingerprint());
      const std::int64_t count = bytes.size() / record_;
      if (bytes.size() % record_ != 0 || count == 0 || count > form.most_records)
        bytes.fail(fmt::format("not a {} batch", form.name),
                   fmt::format("it has {} bytes; a batch has {} for each of 1 to {} images", bytes.size(),
                               record_, form.most_records));
      count_ += count;
    }
  }

  std::int64_t count() const override { return count_; }
  void read(std::span<std::uint8_t> labels, std::span<std::uint8_t> pixels) override {
    std::vector<std::uint8_t> record(record_);
    auto label = labels.begin();
    std::uint8_t* image = pixels.data();
    for (const auto& bytes : files_) {
      const std::int64_t count = bytes->size() / record_;
      for (std::int64_t i = 0; i < count; ++i) {
        bytes->read(record);
        check_labels(*bytes, i, record);
        *label++ = record[form_.label];
        // The image is stored as (C, H, W).
        channels_last(kChannels, kEdge * kEdge, record.data() + form_.labels, image);
        image += kPixels;
      }
      bytes->finish();
    }
  }

 private:
  void check_labels(const ByteReader& bytes, std::int64_t index,
                    const std::vector<std::uint8_t>& record) const {
    for (std::size_t k = 0; k < form_.classes.size(); ++k)
      if (record[k] >= form_.classes[k].size())
        bytes.fail("label out of range", fmt::format("label {} is {}; the classes are 0 to {}", index,
                                                     record[k], form_.classes[k].size() - 1));
  }

  CifarForm form_;
  std::int64_t record_;
  std::vector<std::unique_ptr<ByteReader>> files_;
  std::int64_t count_ = 0;
};

}  // namespace

std::unique_ptr<Dataset> open_cifar(const CifarForm& form, const std::vector<std::string>& paths,
                                    std::vector<std::string>& fingerprint) {
  return std::make_unique<Pixels>(Shape{kEdge, kEdge, kChannels},
                                  form.classes.at(static_cast<std::size_t>(form.label)),
                                  std::make_unique<CifarFiles>(form, paths, fingerprint));
}

}  // namespace trainer
