#include "datasets/tar/tar_index.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "datasets/image_ending.h"
#include "engine/system/crc32.h"

namespace trainer {
namespace {

constexpr std::string_view kFirstLine = "trainer tar index 1\n";
constexpr std::string_view kImage = "image", kArray = "array", kSumWord = "crc32 ";

std::uint32_t sum_of(std::string_view text) { return crc32_of(std::as_bytes(std::span(text))); }

/// Takes words and values from the front of a text.
class Fields {
 public:
  explicit Fields(std::string_view text) : text_(text) {}

  bool is_empty() const { return text_.empty(); }
  bool take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  template <class Number>
  bool take_number(Number& value, int base = 10) {
    const auto [end, problem] = std::from_chars(text_.data(), text_.data() + text_.size(), value, base);
    if (problem != std::errc{}) return false;
    text_.remove_prefix(end - text_.data());
    return true;
  }
  /// " OFFSET BYTES CRC32"
  bool take_part(TarPart& part) {
    return take(" ") && take_number(part.offset) && take(" ") && take_number(part.bytes) && take(" ") &&
           take_number(part.checksum, 16);
  }

 private:
  std::string_view text_;
};

bool take_sample(Fields& fields, TarSample& sample) {
  const bool is_image = fields.take(kImage);
  if (!is_image && !fields.take(kArray)) return false;
  sample.kind = is_image ? TarSample::Kind::image : TarSample::Kind::array;
  if (!fields.take_part(sample.input)) return false;
  if (fields.take(" class "))
    return fields.take_number(sample.label) && sample.label >= 0 && sample.label < TarSample::kMostClasses &&
           fields.take("\n");
  return fields.take(" values") && fields.take_part(sample.target) && fields.take("\n");
}

bool lies_in(const TarPart& part, std::uint64_t shard_bytes, std::uint64_t most) {
  return part.bytes > 0 && part.bytes <= most && part.bytes <= shard_bytes &&
         part.offset <= shard_bytes - part.bytes;
}

std::string part_text(const TarPart& part) {
  return fmt::format(" {} {} {:08x}", part.offset, part.bytes, part.checksum);
}

}  // namespace

std::string index_path(const std::string& shard) { return shard + ".index"; }

std::string tar_index_text(std::uint64_t shard_bytes, const std::vector<TarSample>& samples) {
  std::string text = std::string(kFirstLine) + fmt::format("bytes {}\n", shard_bytes);
  for (const TarSample& sample : samples) {
    text += sample.kind == TarSample::Kind::image ? kImage : kArray;
    text += part_text(sample.input);
    text += sample.has_label() ? fmt::format(" class {}\n", sample.label)
                               : " values" + part_text(sample.target) + "\n";
  }
  return text + fmt::format("{}{:08x}\n", kSumWord, sum_of(text));
}

std::optional<std::vector<TarSample>> read_tar_index(const InputFile& shard) {
  const std::string path = index_path(shard.path().string());
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const auto fail = [&](const std::string& what, const std::string& note) {
    throw Error(ExitCode::data, {Diagnostic{.what = what,
                                            .place = path,
                                            .notes = {note},
                                            .help = "copy the shard and its index again, or remove the "
                                                    "index: the shard is read without it"}});
  };
  // A sample takes four blocks of its shard at least, and a line of its index.
  constexpr std::uint64_t kShare = 16, kFewBytes = 4096;
  const std::string all = read_file(path, ExitCode::data, shard.size() / kShare + kFewBytes);
  const std::size_t last = all.rfind(kSumWord);
  Fields end(last == std::string::npos ? std::string_view() : std::string_view(all).substr(last));
  std::uint32_t sum = 0;
  if (!end.take(kSumWord) || !end.take_number(sum, 16) || !end.take("\n") || !end.is_empty())
    fail("index of a tar file is truncated", "it does not end with the line of its CRC-32");
  const std::string_view text = std::string_view(all).substr(0, last);
  if (sum != sum_of(text))
    fail("index of a tar file is damaged",
         fmt::format("its CRC-32 is {:08x}, its last line has {:08x}", sum_of(text), sum));
  Fields fields(text);
  std::uint64_t bytes = 0;
  if (!fields.take(kFirstLine) || !fields.take("bytes ") || !fields.take_number(bytes) || !fields.take("\n"))
    fail("not the index of a tar file", "an index begins with `trainer tar index 1`");
  if (bytes != shard.size())
    fail("index is of another tar file",
         fmt::format("it describes {} bytes; {} has {}", bytes, shard.path().string(), shard.size()));
  std::vector<TarSample> samples;
  while (!fields.is_empty()) {
    TarSample sample;
    const bool is_read = take_sample(fields, sample);
    const std::uint64_t most =
        sample.kind == TarSample::Kind::image ? kLargestImageFile : TarSample::kLargestArray;
    if (!is_read || !lies_in(sample.input, bytes, most) ||
        (!sample.has_label() && !lies_in(sample.target, bytes, TarSample::kLargestArray)))
      fail("index of a tar file is damaged",
           fmt::format("sample {} is no sample in {} bytes", samples.size(), bytes));
    samples.push_back(sample);
  }
  if (samples.empty()) fail("index of a tar file has no sample", "a shard has one at least");
  return samples;
}

}  // namespace trainer
