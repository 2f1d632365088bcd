#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "datasets/image_ending.h"
#include "datasets/tar/tar_index.h"
#include "datasets/tar/tar_members.h"

namespace trainer {
namespace {

/// A member's name up to the first dot behind its folder, and what follows that dot.
struct SplitName {
  std::string_view key, ending;
};

/// As WebDataset splits it; nothing for hidden files and names without an ending.
std::optional<SplitName> split_name(std::string_view name) {
  const std::size_t file = name.rfind('/') + 1;  // 0 if there is no folder
  const std::size_t dot = name.find('.', file);
  if (dot == std::string_view::npos || dot == file) return std::nullopt;
  return SplitName{name.substr(0, dot), name.substr(dot + 1)};
}

/// Makes samples of members that follow each other.
class Scan {
 public:
  explicit Scan(const InputFile& file) : file_(file) {}

  void take(const TarMember& member) {
    const auto name = split_name(member.name);
    if (!name) return;
    if (name->key != key_) {
      finish();
      key_ = name->key;
    }
    is_open_ = true;
    if (endings_.size() < kMostEndings)
      endings_.push_back("." + std::string(name->ending.substr(0, kLongestEnding)));
    if (is_image_ending(name->ending)) {
      take_input(member, TarSample::Kind::image, kLargestImageFile);
    } else if (name->ending == "npy") {
      take_input(member, TarSample::Kind::array, TarSample::kLargestArray);
    } else if (name->ending == "cls") {
      take_target(member);
      sample_.label = read_label(member);
    } else if (name->ending == "target.npy") {
      take_target(member);
      sample_.target = part_of(member, TarSample::kLargestArray);
    }
  }
  /// Ends the current sample.
  void finish() {
    if (!is_open_) return;
    if (!has_input_)
      fail(key_, "a sample has no image and no array",
           fmt::format("its members are {}; .jpg, .jpeg, .png, .webp and .npy are read",
                       fmt::join(endings_, ", ")));
    if (!has_target_)
      fail(key_, "a sample has no target",
           fmt::format("its members are {}; .cls holds a class, .target.npy holds values, and the members of "
                       "a sample follow each other",
                       fmt::join(endings_, ", ")));
    samples_.push_back(sample_);
    sample_ = {};
    endings_.clear();
    is_open_ = has_input_ = has_target_ = false;
  }
  std::vector<TarSample> take_samples() {
    finish();
    if (samples_.empty())
      throw Error(ExitCode::data, {Diagnostic{.what = "tar file has no sample",
                                              .place = file_.path().string(),
                                              .notes = {"a sample is KEY.jpg and KEY.cls, for example"}}});
    return std::move(samples_);
  }

 private:
  static constexpr std::size_t kMostEndings = 8, kLongestEnding = 32;  ///< in a message

  void take_input(const TarMember& member, TarSample::Kind kind, std::uint64_t most) {
    if (has_input_)
      fail(member.name, "a sample has two inputs",
           fmt::format("its members are {}; one image or one array is read", fmt::join(endings_, ", ")));
    has_input_ = true;
    sample_.kind = kind;
    sample_.input = part_of(member, most);
  }
  void take_target(const TarMember& member) {
    if (has_target_)
      fail(member.name, "a sample has two targets",
           fmt::format("its members are {}; one .cls or one .target.npy is read", fmt::join(endings_, ", ")));
    has_target_ = true;
  }
  TarPart part_of(const TarMember& member, std::uint64_t most) const {
    if (member.bytes == 0) fail(member.name, "member is empty", "0 bytes");
    if (member.bytes > most)
      fail(member.name, "member is too large",
           fmt::format("{} bytes; at most {} are read", member.bytes, most));
    return {.offset = member.offset, .bytes = static_cast<std::uint32_t>(member.bytes)};
  }
  std::int32_t read_label(const TarMember& member) const {
    constexpr std::uint64_t kLongest = 32;
    constexpr std::string_view kSpaces = " \t\r\n";
    std::string text(std::min(member.bytes, kLongest), '\0');
    file_.read(member.offset, std::as_writable_bytes(std::span(text)));
    std::string_view digits = text;
    digits.remove_prefix(std::min(digits.find_first_not_of(kSpaces), digits.size()));
    digits = digits.substr(0, digits.find_last_not_of(kSpaces) + 1);
    std::int32_t label = -1;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), label);
    if (member.bytes > kLongest || problem != std::errc{} || end != digits.data() + digits.size() ||
        label < 0 || label >= TarSample::kMostClasses)
      fail(member.name, "label is no class",
           fmt::format("it holds `{}`; .cls holds a whole number from 0 to {}", text,
                       TarSample::kMostClasses - 1));
    return label;
  }
  [[noreturn]] void fail(const std::string& member, const std::string& what, const std::string& note) const {
    throw Error(ExitCode::data,
                {Diagnostic{.what = what, .place = file_.path().string() + ": " + member, .notes = {note}}});
  }

  const InputFile& file_;
  std::vector<TarSample> samples_;
  TarSample sample_;
  std::string key_;
  std::vector<std::string> endings_;
  bool is_open_ = false, has_input_ = false, has_target_ = false;
};

}  // namespace

std::vector<TarSample> scan_tar_shard(const InputFile& shard) {
  Scan scan(shard);
  TarMembers members(shard);
  for (TarMember member; members.next(member);) scan.take(member);
  return scan.take_samples();
}

}  // namespace trainer
