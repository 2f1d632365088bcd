#include "cli/templates/data_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cli/templates/image_sizes.h"
#include "cli/templates/table_target.h"
#include "datasets/fetching/public_set.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/text_file.h"
#include "engine/config/emit.h"
#include "engine/config/source.h"
#include "engine/core/error.h"
#include "engine/core/escape.h"
#include "engine/core/utf8.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_wrong_data(const std::string& kind, const std::string& shown, const char* expected) {
  throw Error(
      ExitCode::usage,
      {Diagnostic{.what = fmt::format("`trainer new {}` expects {}", kind, expected),
                  .place = shown,
                  .notes = {"mlp: a table, a folder of images or a public dataset; convnet, resnet: a "
                            "folder of images or a public dataset",
                            "folder: a folder of images; table: a table (CSV); lstm, gpt: a text"}}});
}

bool is_public_set_of_images(const std::string& name) {
  return name == "digits" ||
         std::ranges::any_of(public_sets(), [&](const PublicSet& set) { return set.config == name; });
}

[[noreturn]] void fail_absent(const std::string& shown) {
  std::vector<std::string> names{"digits"};
  for (const PublicSet& set : public_sets())
    if (is_public_set_of_images(set.name)) names.push_back(set.name);
  throw Error(ExitCode::data, {Diagnostic{.what = "no such file or folder",
                                          .place = shown,
                                          .notes = {"public datasets are " + listed(names)}}});
}

std::string augmentation(bool has_colours, std::int64_t size) {
  const std::int64_t pad = std::max<std::int64_t>(1, size / 8);
  return commented(
      fmt::format("  augment: [{{random_crop: {{pad: {}}}}}{}]", pad, has_colours ? ", horizontal_flip" : ""),
      has_colours ? "training images shifted and mirrored at random" : "training images shifted at random");
}

DataSection table_section(const std::string& file) {
  const TableTarget target = table_target(file);
  const std::string column = yaml_text(target.column);
  std::string yaml = "data:\n  dataset:\n    csv:\n      train: " + yaml_text(file) + "\n";
  yaml += commented("      target: " + column, target.is_named ? "by its name; the columns are:"
                                                               : "a guess, by its place; the columns are:");
  constexpr std::size_t kNames = 12, kWidth = 40;
  std::string names;
  for (std::size_t i = 0; i < std::min(target.columns.size(), kNames); ++i)
    names += (i == 0 ? "" : ", ") + escaped(shortened(target.columns[i], kWidth));
  if (target.columns.size() > kNames) names += ", ...";
  yaml += commented("", names);
  yaml += target.has_numbers
              ? commented("      targets: numbers", "learns the numbers; `labels` learns classes")
              : commented("      targets: labels",
                          fmt::format("{} classes were seen; `numbers` learns numbers", target.classes));
  if (!target.ignored.empty()) {
    std::string ignored;
    for (const std::string& name : target.ignored) ignored += (ignored.empty() ? "" : ", ") + yaml_text(name);
    yaml += commented("      ignore: [" + ignored + "]", "only counts the rows");
  }
  yaml += commented("  normalize: per_channel", "each column of numbers to mean 0, deviation 1");
  if (target.has_numbers)
    yaml += commented("  normalize_targets: true", "predictions and metrics stay in their own unit");
  yaml += commented("  validation: 0.2", "a fifth of the rows is held out");
  return {.yaml = yaml, .has_numbers = target.has_numbers};
}

DataSection folder_section(const std::string& kind, const std::string& folder) {
  const ShownImages images = shown_images(folder);
  std::string keys = fmt::format("size: {}", images.size);
  if (images.train != "train") keys += ", train: \"" + images.train + "\"";
  if (!images.test.empty() && images.test != "val") keys += ", test: " + images.test;
  if (images.is_gray) keys += ", gray: true";
  std::string yaml =
      "data:\n" + commented("  dataset: {image_folder: {" + keys + "}}", "images are scaled to this size");
  yaml += commented("  path: " + yaml_text(folder), "its class folders are the classes");
  yaml += commented("  normalize: per_channel", "each channel to mean 0, deviation 1");
  if (kind != "mlp") yaml += augmentation(!images.is_gray, images.size);
  if (images.test.empty()) yaml += commented("  validation: 0.2", "a fifth of the images is held out");
  return {.yaml = yaml};
}

DataSection text_section(const std::string& kind, const std::string& file) {
  const std::string existing = existing_file(file);
  ByteReader reader(existing.empty() ? file : existing);
  const std::string text = content_of(reader);
  const bool has_characters = is_utf8(text);
  std::int64_t tokens = 0;
  for (const char byte : text)
    if (!has_characters || (static_cast<unsigned char>(byte) & 0xC0u) != 0x80) ++tokens;
  // Ten sequences at least, so that validation has one.
  std::int64_t sequence = kind == "gpt" ? 128 : 64;
  while (sequence > 4 && tokens < 12 * (sequence + 1)) sequence /= 2;
  std::string yaml = "data:\n  dataset:\n    text:\n      file: " + yaml_text(file) + "\n";
  yaml += commented(std::string("      tokens: ") + (has_characters ? "characters" : "bytes"),
                    has_characters ? "or {sentencepiece: {vocabulary: 4096}} for a large text"
                                   : "it is not UTF-8, so it has no characters");
  yaml += commented(fmt::format("      sequence: {}", sequence), "tokens of a sample");
  yaml += commented("  validation: 0.1", "the end of the text is held out");
  return {.yaml = yaml};
}

DataSection set_section(const std::string& kind, const std::string& name) {
  const bool has_colours = name.starts_with("cifar");
  std::string yaml = "data:\n  dataset: " + name + "\n";
  if (has_colours) yaml += commented("  normalize: per_channel", "each channel to mean 0, deviation 1");
  if (kind != "mlp") yaml += augmentation(has_colours, has_colours ? 32 : 16);
  return {.yaml = yaml};
}

/// Data that trains at once on any machine.
DataSection usual_section(const std::string& kind) {
  if (kind == "table")
    return {.yaml = "data:\n" + commented("  dataset: {synthetic: {shape: [8], classes: 3}}",
                                          "random rows; yours: trainer new table FILE.csv")};
  if (kind == "folder")
    return {.yaml = "data:\n" +
                    commented("  dataset: {synthetic: {shape: [3, 64, 64], classes: 4}}",
                              "random images; yours: trainer new folder DIR") +
                    augmentation(true, 64)};
  if (kind == "lstm" || kind == "gpt") {
    const char* sequence = kind == "gpt" ? "128" : "64";
    return {.yaml = fmt::format("data:\n  dataset: {{text: {{file: tinyshakespeare.txt, tokens: characters, "
                                "sequence: {}}}}}\n",
                                sequence) +
                    commented(fmt::format("  fallback: {{sentences: {}}}", sequence),
                              "until `trainer fetch tinyshakespeare`: composed sentences") +
                    commented("  validation: 0.1", "the end of the text is held out")};
  }
  const bool has_colours = kind == "resnet";
  DataSection section = set_section(kind, has_colours ? "cifar10" : "mnist");
  const std::string first = has_colours ? "  dataset: cifar10\n" : "  dataset: mnist\n";
  const std::string fallback =
      has_colours
          ? commented("  fallback: {synthetic: {shape: [3, 32, 32], classes: 10}}",
                      "until `trainer fetch cifar10`: random images")
          : commented("  fallback: digits", "until `trainer fetch mnist`: digits that the program draws");
  section.yaml.insert(section.yaml.find(first) + first.size(), fallback);
  return section;
}

}  // namespace

std::string commented(const std::string& line, const std::string& comment) {
  constexpr std::size_t kColumn = 32;
  std::string text = line;
  text.resize(std::max(text.size() + 2, kColumn), ' ');
  return text + "# " + comment + "\n";
}

DataSection data_section(const std::string& kind, const std::string& shown) {
  if (shown.empty()) return usual_section(kind);
  const bool is_text = kind == "lstm" || kind == "gpt";
  std::error_code problem;
  if (fs::is_directory(shown, problem)) {
    if (is_text || kind == "table")
      fail_wrong_data(kind, shown, is_text ? "a text, not a folder" : "a table, not a folder");
    return folder_section(kind, shown);
  }
  if (!existing_file(shown).empty()) {
    if (is_text) return text_section(kind, shown);
    if (kind == "table" || kind == "mlp") return table_section(shown);
    fail_wrong_data(kind, shown, "a folder of class folders with images, not a file");
  }
  if (!is_public_set_of_images(shown)) fail_absent(shown);
  if (is_text || kind == "table" || kind == "folder")
    fail_wrong_data(kind, shown, kind == "folder" ? "a folder" : "a file");
  return set_section(kind, shown);
}

}  // namespace trainer
