#include "cli/commands/packed_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "cli/commands/new_directory.h"
#include "cli/terminal/renewed_line.h"
#include "datasets/readers/image_file.h"
#include "datasets/tar/tar_writer.h"
#include "engine/config/emit.h"
#include "engine/core/error.h"
#include "engine/core/little_endian.h"
#include "engine/system/files.h"
#include "models/formats/npy.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kClassesFile = "classes.txt";

/// Error(usage) if shards cannot hold all that training knows of the samples.
void check_can_be_packed(const DataSource& source) {
  const DatasetInfo& info = source.train->info();
  const std::string kind = info.vocabulary > 0            ? "tokens of a text"
                           : !source.form.columns.empty() ? "rows of a table, whose columns have types"
                           : info.has_lengths             ? "sequences of several lengths"
                           : info.has_weights             ? "samples with weights"
                           : info.positions > 0           ? "labels of positions"
                                                          : "";
  if (!kind.empty())
    throw Error(ExitCode::usage, fmt::format("{} holds {}, which tar shards cannot hold", source.name, kind),
                "images or arrays, with a class or values for each sample");
}

std::vector<std::uint8_t> npy_file(const std::string& type, const Shape& shape,
                                   std::span<const std::byte> elements) {
  const std::string header = npy_header(type, shape);
  std::vector<std::uint8_t> file(header.begin(), header.end());
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(elements.data());
  file.insert(file.end(), bytes, bytes + elements.size());
  return file;
}

std::vector<std::uint8_t> npy_file(const Shape& shape, std::span<const float> elements) {
  return npy_file("<f4", shape, LittleEndian<float>(elements).bytes());
}

/// The pixels of which an image in memory was made; empty if its elements are others.
std::vector<std::uint8_t> pixels_of(const Shape& sample, std::span<const float> elements) {
  constexpr float kWhite = 255;
  std::vector<std::uint8_t> pixels;
  if (sample.rank() != 3) return pixels;
  pixels.reserve(elements.size());
  for (const float element : elements) {
    if (!(element >= 0 && element <= 1)) return {};
    pixels.push_back(static_cast<std::uint8_t>(std::lround(element * kWhite)));
    if (std::bit_cast<std::uint32_t>(static_cast<float>(pixels.back()) / kWhite) !=
        std::bit_cast<std::uint32_t>(element))
      return {};
  }
  return pixels;
}

/// Gives the samples of a split as tar shards hold them.
class SplitReader {
 public:
  explicit SplitReader(Dataset& samples) : samples_(samples), memory_(samples.stored_bytes()) {
    if (!memory_.empty()) {
      samples_.fill(memory_);
      samples_.attach(memory_);
    }
  }

  NewTarSample read(std::int64_t index) {
    NewTarSample sample{.ending = "npy", .input = samples_.image_file(index), .values = {}};
    if (sample.input.empty()) {
      sample.kind = TarSample::Kind::array;
      sample.input = array_of(index);
    } else {
      sample.ending = ImageDecoder::ending_of(sample.input);
    }
    if (samples_.classes() > 0)
      sample.label = samples_.label(index);
    else
      sample.values = values_of(index);
    return sample;
  }

 private:
  std::vector<std::uint8_t> array_of(std::int64_t index) {
    const Shape& shape = samples_.sample();
    elements_.resize(shape.size());
    samples_.read({&index, 1}, {elements_.data(), shape.with_front(1)});
    const std::vector<std::uint8_t> pixels = pixels_of(shape, elements_);
    return pixels.empty() ? npy_file(shape, elements_)
                          : npy_file("|u1", shape, std::as_bytes(std::span(pixels)));
  }
  std::vector<std::uint8_t> values_of(std::int64_t index) {
    const Shape& shape = samples_.target();
    elements_.resize(shape.size());
    samples_.read_targets({&index, 1}, {elements_.data(), shape.with_front(1)});
    return npy_file(shape, elements_);
  }

  Dataset& samples_;
  std::vector<std::uint8_t> memory_;
  std::vector<float> elements_;
};

/// Writes shards into a directory and notes their SHA-256.
class SetWriter {
 public:
  SetWriter(fs::path directory, std::uint64_t shard_bytes)
      : directory_(std::move(directory)), shard_bytes_(shard_bytes) {}

  PackedSplit write(const std::string& name, Dataset& samples) {
    SplitReader reader(samples);
    PackedSplit split{.samples = samples.size()};
    std::unique_ptr<TarWriter> shard;
    const auto finish = [&] {
      split.bytes += static_cast<std::int64_t>(shard->bytes());
      sums_ += shard->commit();
    };
    RenewedLine line;
    const auto show = [&](std::int64_t done) {
      line.show(fmt::format("{}: {:3}% of {} samples", name, 100 * done / samples.size(), samples.size()));
    };
    for (std::int64_t index = 0; index < samples.size(); ++index) {
      if (line.is_due()) show(index);
      const NewTarSample sample = reader.read(index);
      largest_label_ = std::max(largest_label_, sample.label);
      has_images_ = sample.kind == TarSample::Kind::image;
      if (shard && shard->bytes_with(sample) > shard_bytes_) {
        finish();
        shard.reset();
      }
      if (!shard)
        shard = std::make_unique<TarWriter>(directory_ / fmt::format("{}-{:06}.tar", name, split.shards++));
      shard->add(fmt::format("{:09}", index), sample);
    }
    finish();
    show(split.samples);
    return split;
  }
  /// Names of classes, or their number where labels do not show it. False if no file is needed.
  bool write_classes(const DatasetInfo& info) {
    std::string text;
    for (const std::string& name : info.class_names) {
      if (name.empty() || name.find_first_of("\r\n") != std::string::npos)
        throw Error(ExitCode::usage, fmt::format("the class `{}` has no name that fits a line", name));
      text += name + "\n";
    }
    if (text.empty() && largest_label_ + 1 < info.classes)
      for (int label = 0; label < info.classes; ++label) text += fmt::format("{}\n", label);
    if (text.empty()) return false;
    write_file(directory_ / kClassesFile, text);
    Sha256 hash;
    hash.add(text);
    sums_ += hex_of(hash.digest()) + "  " + kClassesFile + "\n";
    return true;
  }
  void finish() { write_file(directory_ / "SHA256SUMS", sums_); }
  bool has_images() const { return has_images_; }

 private:
  fs::path directory_;
  std::uint64_t shard_bytes_;
  std::string sums_;
  std::int32_t largest_label_ = -1;
  bool has_images_ = false;
};

std::string config_of(const DataSource& source, const fs::path& out, bool has_images, bool has_classes) {
  const Dataset& train = *source.train;
  std::string tar = "train: \"train-*.tar\"";
  if (source.test) tar += ", test: \"test-*.tar\"";
  if (has_classes) tar += fmt::format(", classes: {}", kClassesFile);
  if (has_images) {
    tar += fmt::format(", size: [{}, {}]", train.sample()[0], train.sample()[1]);
    if (source.form.crop != 1) tar += fmt::format(", crop: {}", source.form.crop);
    if (train.sample()[2] == 1) tar += ", gray: true";
  } else if (train.info().is_streamed) {
    tar += ", streamed: true";
  }
  return fmt::format("{{path: {}, dataset: {{tar: {{{}}}}}}}", yaml_text(out.string()), tar);
}

}  // namespace

PackedSet pack_set(DataSource source, const fs::path& out, std::uint64_t shard_bytes) {
  check_can_be_packed(source);
  NewDirectory directory(out);
  SetWriter writer(directory.path(), shard_bytes);
  PackedSet set{.train = writer.write("train", *source.train), .test = {}, .config = {}};
  const bool has_classes = writer.write_classes(source.train->info());
  if (source.test) set.test = writer.write("test", *source.test);
  writer.finish();
  directory.commit();
  set.config = config_of(source, out, writer.has_images(), has_classes);
  return set;
}

}  // namespace trainer
