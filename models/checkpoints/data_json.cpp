#include "models/checkpoints/data_json.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "datasets/readers/table_features.h"
#include "engine/core/error.h"
#include "models/checkpoints/json_reader.h"

namespace trainer {
namespace {

using Json = JsonReader::Json;

constexpr int kDataFormat = 1;
constexpr std::size_t kMaxNames = 1 << 26, kMaxDataFiles = 1 << 16;
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 40;
constexpr std::array kUses{
    std::pair{TableColumn::Use::input, "input"}, std::pair{TableColumn::Use::target, "target"},
    std::pair{TableColumn::Use::weight, "weight"}, std::pair{TableColumn::Use::ignored, "ignored"}};
constexpr std::array kKinds{std::pair{TableColumn::Kind::number, "number"},
                            std::pair{TableColumn::Kind::boolean, "boolean"},
                            std::pair{TableColumn::Kind::category, "category"}};

std::uint64_t checksum_of(const std::string& hex) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  if (error != std::errc() || end != hex.data() + hex.size())
    throw Error(ExitCode::weights, "holds a checksum that is no number");
  return value;
}

Json extents_json(const Shape& shape) {
  Json list = Json::array();
  for (const std::int64_t extent : shape.extents()) list.push_back(extent);
  return list;
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(text_json(text));
  return list;
}

/// The name that a table gives to a value.
template <class Value, std::size_t kCount>
const char* name_of(const std::array<std::pair<Value, const char*>, kCount>& names, Value value) {
  for (const auto& [known, name] : names)
    if (known == value) return name;
  throw std::logic_error("a value without a name");
}

template <class Value, std::size_t kCount>
Value value_of(const std::array<std::pair<Value, const char*>, kCount>& names, const std::string& text,
               const char* problem) {
  for (const auto& [value, name] : names)
    if (text == name) return value;
  JsonReader::fail(problem);
}

Json columns_json(const std::vector<TableColumn>& columns) {
  Json list = Json::array();
  for (const TableColumn& column : columns) {
    Json json{{"name", text_json(column.name)}, {"use", name_of(kUses, column.use)}};
    if (column.use == TableColumn::Use::input) {
      json["kind"] = name_of(kKinds, column.kind);
      json["requires_value"] = column.requires_value;
      json["has_indicator"] = column.has_indicator;
      json["fill"] = column.fill;
      json["categories"] = texts_json(column.categories);
      json["missing"] = column.missing;
      json["others"] = column.others;
    } else if (!column.reason.empty()) {
      json["reason"] = text_json(column.reason);
    }
    list.push_back(std::move(json));
  }
  return list;
}

Shape shape_of(const JsonReader& json) {
  std::vector<std::int64_t> extents;
  for (const JsonReader& extent : json.items(Shape::kMaxRank - 1)) {
    extents.push_back(extent.count(kLargestExtent));
    if (extents.back() == 0) JsonReader::fail("an extent is 0");
  }
  const Shape shape{std::span<const std::int64_t>(extents)};
  static_cast<void>(shape.size());  // throws if it overflows
  return shape;
}

std::vector<std::string> texts_of(const JsonReader& json, std::size_t most) {
  std::vector<std::string> texts;
  for (const JsonReader& text : json.items(most)) texts.push_back(text.bytes());
  return texts;
}

float float_of(const JsonReader& json) {
  const double value = json.real();
  if (!(std::fabs(value) <= double{std::numeric_limits<float>::max()}))
    JsonReader::fail("a number is out of its range");
  return static_cast<float>(value);
}

std::vector<float> floats_of(const JsonReader& json) {
  std::vector<float> values;
  for (const JsonReader& item : json.items(kMaxNames)) values.push_back(float_of(item));
  return values;
}

std::vector<TableColumn> columns_of(const JsonReader& json) {
  std::vector<TableColumn> columns;
  for (const JsonReader& item : json.items(kMaxNames)) {
    TableColumn column;
    column.name = item.at("name").bytes();
    column.use = value_of(kUses, item.at("use").text(), "the use of a column is unknown");
    if (item.has("reason")) column.reason = item.at("reason").bytes();
    // Earlier programs knew nothing but numbers.
    column.requires_value = !item.has("kind");
    if (column.use == TableColumn::Use::input && item.has("kind")) {
      column.kind = value_of(kKinds, item.at("kind").text(), "the kind of a column is unknown");
      column.requires_value = item.at("requires_value").truth();
      column.has_indicator = item.at("has_indicator").truth();
      column.fill = float_of(item.at("fill"));
      column.categories = texts_of(item.at("categories"), kMaxNames);
      column.missing = item.at("missing").count();
      column.others = item.at("others").count();
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

Json statistics_json(const ChannelStatistics& statistics) {
  Json means = Json::array(), deviations = Json::array();
  for (const float mean : statistics.mean) means.push_back(mean);
  for (const float deviation : statistics.deviation) deviations.push_back(deviation);
  return {{"mean", means}, {"deviation", deviations}};
}

ChannelStatistics statistics_of(const JsonReader& json) {
  return {.mean = floats_of(json.at("mean")), .deviation = floats_of(json.at("deviation"))};
}

char separator_of(const JsonReader& json) {
  const std::string text = json.text();
  if (text.size() != 1) JsonReader::fail("the separator is not one character");
  return text.front();
}

DatasetInfo info_of(const JsonReader& json) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  DatasetInfo info;
  info.sample = shape_of(json.at("sample"));
  info.classes = static_cast<int>(json.at("classes").count(kMost));
  info.class_names = texts_of(json.at("class_names"), kMaxNames);
  info.target = shape_of(json.at("target"));
  info.positions = json.at("positions").count(kLargestExtent);
  info.vocabulary = static_cast<int>(json.at("vocabulary").count(kMost));
  info.has_lengths = json.at("has_lengths").truth();
  return info;
}

InputForm form_of(const JsonReader& json) {
  InputForm form;
  form.has_pixels = json.at("has_pixels").truth();
  form.crop = json.at("crop").real();
  form.columns = columns_of(json.at("columns"));
  form.separator = separator_of(json.at("separator"));
  form.header = static_cast<int>(json.at("header").count(std::numeric_limits<int>::max()));
  form.channels_first = json.at("channels_first").truth();
  form.array = json.at("array").bytes();
  return form;
}

/// What several keys must agree on, so that no reader of samples needs to check it again.
void check(const DataDescription& description) {
  const DatasetInfo& info = description.info;
  const auto require = [](bool holds, const char* what) {
    if (!holds) JsonReader::fail(what);
  };
  // Without classes the names are those of target values, or of labels that the targets do not use.
  require(
      info.classes == 0 || info.class_names.empty() || std::cmp_equal(info.class_names.size(), info.classes),
      "there is not one name for each class");
  require(description.train > 0, "there are no training samples");
  require(info.sample.rank() > 0 || !info.has_lengths, "a scalar has no length");
  const std::size_t channels = description.statistics.mean.size();
  require(channels == description.statistics.deviation.size() &&
              (channels == 0 || std::cmp_equal(channels, channel_count(info.sample))),
          "there is not one mean and one deviation for each channel");
  const std::size_t targets = description.target_statistics.mean.size();
  require(targets == description.target_statistics.deviation.size() &&
              (targets == 0 || (info.classes == 0 && std::cmp_equal(targets, channel_count(info.target)))),
          "there is not one mean and one deviation for each target");
  require(description.class_counts.empty() || std::cmp_equal(description.class_counts.size(), info.classes),
          "there is not one count for each class");
  require((info.vocabulary > 0) == !description.tokenizer.empty(), "tokens and tokenizer do not go together");
  require(info.vocabulary == 0 || (info.sample.rank() == 1 && info.positions == info.sample.size()),
          "tokens are not one for each position");
  require(description.form.columns.empty() ||
              info.sample == Shape{TableFeatures(description.form.columns).size()},
          "the columns are not those of a sample");
  require(description.form.crop > 0 && description.form.crop <= 1, "the crop is out of its range");
}

}  // namespace

std::string text_of(const DataDescription& description, std::uint64_t most) {
  const DatasetInfo& info = description.info;
  const InputForm& form = description.form;
  const Json json{
      {"format", kDataFormat},
      {"data", text_json(description.name)},
      {"sample", extents_json(info.sample)},
      {"classes", info.classes},
      {"class_names", texts_json(info.class_names)},
      {"target", extents_json(info.target)},
      {"positions", info.positions},
      {"vocabulary", info.vocabulary},
      {"has_lengths", info.has_lengths},
      {"samples",
       {{"train", description.train}, {"valid", description.validation}, {"test", description.test}}},
      {"fingerprint", texts_json(description.fingerprint)},
      {"checksum", fmt::format("{:016x}", description.checksum)},
      {"normalize", statistics_json(description.statistics)},
      {"normalize_targets", statistics_json(description.target_statistics)},
      {"class_counts", description.class_counts},
      {"tokenizer",
       {{"kind", text_json(description.tokenizer)}, {"definition", text_json(description.tokens)}}},
      {"input",
       {{"has_pixels", form.has_pixels},
        {"crop", form.crop},
        {"columns", columns_json(form.columns)},
        {"separator", std::string(1, form.separator)},
        {"header", form.header},
        {"channels_first", form.channels_first},
        {"array", text_json(form.array)}}}};
  std::string text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (text.size() > most)
    throw Error(
        ExitCode::data,
        fmt::format("what a checkpoint keeps of the data (data.json) has {} bytes, and {} are the most",
                    text.size(), most),
        "fewer or shorter names of classes, columns and categories, or fewer tokens");
  return text;
}

DataDescription parse_data_description(std::string_view text) {
  constexpr int kDeepest = 6;  // of what text_of() writes
  const Json json = parse_json(text, kDeepest);
  const JsonReader reader(json);
  const std::int64_t format = reader.at("format").count();
  if (format != kDataFormat)
    throw Error(ExitCode::weights,
                fmt::format("has format {}, this program reads format {}", format, kDataFormat),
                "use the version of the program that saved it");
  // One assignment each: g++ 12 destroys members twice if a nested initialiser throws.
  DataDescription description;
  description.name = reader.at("data").bytes();
  description.info = info_of(reader);
  const JsonReader tokenizer = reader.at("tokenizer"), samples = reader.at("samples");
  description.tokenizer = tokenizer.at("kind").bytes();
  description.tokens = tokenizer.at("definition").bytes();
  description.train = samples.at("train").count();
  description.validation = samples.at("valid").count();
  description.test = samples.at("test").count();
  description.fingerprint = texts_of(reader.at("fingerprint"), kMaxDataFiles);
  // Earlier programs had no checksum.
  if (reader.has("checksum")) description.checksum = checksum_of(reader.at("checksum").bytes());
  description.form = form_of(reader.at("input"));
  description.statistics = statistics_of(reader.at("normalize"));
  // Earlier programs did not scale targets.
  if (reader.has("normalize_targets"))
    description.target_statistics = statistics_of(reader.at("normalize_targets"));
  // Earlier programs did not count classes.
  if (reader.has("class_counts"))
    for (const JsonReader& count : reader.at("class_counts").items(kMaxNames))
      description.class_counts.push_back(count.count(kLargestExtent));
  description.info.size = description.train;
  check(description);
  return description;
}

}  // namespace trainer
