#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "datasets/readers/csv_table.h"
#include "datasets/readers/csv_text.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/values.h"
#include "engine/config/registry.h"
#include "engine/config/source.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxClasses = 1 << 20;

/// A table that has been read already.
class CsvValues final : public ValueFiles {
 public:
  CsvValues(CsvTable table, std::vector<float> targets)
      : table_(std::move(table)), targets_(std::move(targets)) {}
  void read(std::span<float> samples, std::span<float> targets) override {
    std::ranges::copy(table_.values, samples.begin());
    std::ranges::copy(targets_, targets.begin());
  }

 private:
  CsvTable table_;
  std::vector<float> targets_;
};

/// The distinct labels: in numerical order if all are integers, else in the order of their bytes.
std::vector<std::string> classes_of(const CsvTable& table) {
  const std::set<std::string> distinct(table.targets.begin(), table.targets.end());
  std::vector<std::string> classes(distinct.begin(), distinct.end());
  if (classes.size() > kMaxClasses)
    table.fail(0, "too many classes", fmt::format("the target column has {} values", classes.size()));
  const auto number = [](const std::string& text, std::int64_t& value) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size();
  };
  std::int64_t ignored = 0;
  if (std::ranges::all_of(classes, [&](const std::string& text) { return number(text, ignored); }))
    std::ranges::sort(classes, [&](const std::string& a, const std::string& b) {
      std::int64_t left = 0, right = 0;
      number(a, left);
      number(b, right);
      return left != right ? left < right : a < b;
    });
  return classes;
}

/// Tables as text, one sample per line.
class Csv final : public Reader {
 public:
  Csv(const Config& config, const ReaderContext& context)
      : form_{.separator = separator_of(config.get<std::string>("separator")),
              .header = config.get<int>("header"),
              .targets = columns_of(config.at("target")),
              .has_labels = config.get<std::string>("targets") == "labels",
              .ignore = config.get<std::vector<std::string>>("ignore")},
        has_labels_(form_.has_labels) {
    if (has_labels_ && form_.targets.size() != 1)
      config.fail("target", fmt::format("labels are one column, but {} are named", form_.targets.size()),
                  "`targets: numbers` with one column per class, 1 or 0, for several labels per sample");
    if (form_.targets.empty()) config.fail("target", "names no column");
    const auto path = [&](std::string_view key) {
      return (std::filesystem::path(context.path) / config.get<std::string>(key)).string();
    };
    train_ = path("train");
    if (config.has("test")) test_ = path("test");
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    bool none = true;
    for (const std::string* path : {&train_, &test_}) {
      if (path->empty()) continue;
      looked_for.push_back(*path + "[.gz]");
      none = none && existing_file(*path).empty();
    }
    return none;
  }

  DataSource open() override {
    DataSource source{.name = "csv"};
    CsvTable train = read(train_, source);
    if (has_labels_)
      for (const std::string& name : classes_of(train))
        classes_.emplace(name, static_cast<std::int32_t>(classes_.size()));
    const std::int64_t columns = train.columns;
    source.form = {.has_pixels = false,
                   .columns = train.description,
                   .separator = form_.separator,
                   .header = form_.header};
    if (!test_.empty()) {
      CsvTable test = read(test_, source);
      if (test.columns != columns)
        test.fail(0, "test samples differ from training samples",
                  fmt::format("{} input columns here, {} in training", test.columns, columns));
      source.test = split(std::move(test));
    }
    source.train = split(std::move(train));
    return source;
  }

  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override {
    given.require({"TABLE"});
    DataSource source;
    CsvTable table = read(given.files.front(), source);
    check_columns(table, given.form.columns);
    for (const std::string& name : given.trained.class_names)
      classes_.emplace(name, static_cast<std::int32_t>(classes_.size()));
    return split(std::move(table));
  }

 private:
  /// Error(data) if an input column has another name than in training.
  static void check_columns(const CsvTable& table, const std::vector<TableColumn>& trained) {
    const auto inputs = [](const std::vector<TableColumn>& columns) {
      std::vector<std::string> names;
      for (const TableColumn& column : columns)
        if (column.use == TableColumn::Use::input) names.push_back(column.name);
      return names;
    };
    const std::vector<std::string> here = inputs(table.description), there = inputs(trained);
    for (std::size_t i = 0; i < std::min(here.size(), there.size()); ++i)
      if (here[i] != there[i] && !here[i].empty() && !there[i].empty())
        table.fail(0, "columns differ from those of training",
                   fmt::format("input {} is {} here, {} in training", i + 1, in_quotes(here[i]),
                               in_quotes(there[i])));
  }
  static char separator_of(const std::string& name) {
    return name == "semicolon" ? ';' : name == "tab" ? '\t' : ',';
  }
  static std::vector<std::string> columns_of(const Config& target) {
    if (target.type() == "columns") return target.value<std::vector<std::string>>();
    return {target.value<std::string>()};
  }
  CsvTable read(const std::string& path, DataSource& source) const {
    const std::string found = existing_file(path);
    CsvTable table = read_csv(found.empty() ? path : found, form_);
    source.fingerprint.push_back(table.fingerprint);
    return table;
  }
  std::unique_ptr<Dataset> split(CsvTable table) const {
    ValueSplit split{.info = {.size = table.rows(), .sample = {table.columns}}};
    std::vector<float> targets;
    if (has_labels_) {
      split.info.classes = static_cast<int>(classes_.size());
      split.info.class_names.resize(classes_.size());
      for (const auto& [name, label] : classes_) split.info.class_names[label] = name;
      split.labels = labels_of(table);
    } else {
      split.info.target = {std::ssize(form_.targets)};
      targets = target_values_of(table);
    }
    return std::make_unique<StoredValues>(std::move(split),
                                          std::make_unique<CsvValues>(std::move(table), std::move(targets)));
  }
  std::vector<std::int32_t> labels_of(const CsvTable& table) const {
    std::vector<std::int32_t> labels;
    for (const std::string& name : table.targets) {
      const auto found = classes_.find(name);
      if (found == classes_.end())
        table.fail(std::ssize(labels), "a class that training lacks",
                   fmt::format("{} is none of the {} classes there", in_quotes(name), classes_.size()));
      labels.push_back(found->second);
    }
    return labels;
  }
  /// (rows, targets)
  std::vector<float> target_values_of(const CsvTable& table) const {
    std::vector<float> values;
    for (const std::string& field : table.targets) {
      const std::int64_t targets = std::ssize(form_.targets), i = std::ssize(values);
      double value = 0;
      if (!parse_number(field, value))
        table.fail(i / targets,
                   fmt::format("target column {} requires a number, got {}",
                               table.target_columns[i % targets], in_quotes(field)),
                   field.empty() ? "complete these samples or remove them" : "`targets: labels` for classes");
      values.push_back(static_cast<float>(value));
    }
    return values;
  }

  CsvForm form_;
  bool has_labels_;
  std::string train_, test_;
  std::map<std::string, std::int32_t> classes_;
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "csv",
     .help = "tables of numbers as text, one sample per line; plain or .gz",
     .settings =
         {text("train", "file of the training samples"),
          text("test",
               "file of the test samples; without one, data.validation takes some of the training samples")
              .optional(),
          either("target", "the target column",
                 {text("column", "name of a column, or its number from 1"),
                  list_of("columns", "several columns, for `targets: numbers`",
                          text("", "name or number of a column"))}),
          choice("targets", "labels: the target column names classes; numbers: target columns hold numbers",
                 {"labels", "numbers"})
              .fallback("labels"),
          list_of("ignore", "columns to leave out", text("", "name or number of a column")).fallback("[]"),
          integer("header",
                  "lines above the samples; the last one names the columns, if it has a field for each")
              .at_least(0)
              .at_most(1000)
              .fallback("1"),
          choice("separator", "separator of fields", {"comma", "semicolon", "tab"}).fallback("comma")}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<Csv>(config, context);
    }};

}  // namespace
}  // namespace trainer
