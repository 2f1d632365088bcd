#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>

#include "datasets/readers/column_types.h"
#include "datasets/readers/csv_files.h"
#include "datasets/readers/csv_table.h"
#include "datasets/readers/csv_text.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/stored_table.h"
#include "engine/config/registry.h"
#include "engine/config/source.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxClasses = 1 << 20;

/// The distinct labels, in their order.
std::vector<std::string> classes_of(const CsvTable& table) {
  const std::set<std::string> distinct(table.targets.begin(), table.targets.end());
  if (distinct.size() > kMaxClasses)
    table.fail(0, "too many classes", fmt::format("the target column has {} values", distinct.size()));
  return in_order(distinct);
}

ColumnRules rules_of(const Config& config) {
  using Missing = ColumnRules::Missing;
  ColumnRules rules{.max_categories = config.get<int>("max_categories")};
  for (const auto& [word, missing] :
       {std::pair{"mean", Missing::mean}, {"indicator", Missing::indicator}, {"error", Missing::error}})
    if (config.is_word("missing", word)) {
      rules.missing = missing;
      return rules;
    }
  rules.missing = Missing::constant;
  rules.constant = config.at("missing").get<float>("constant");
  return rules;
}

std::optional<char> separator_of(const std::string& name) {
  if (name == "auto") return std::nullopt;
  return name == "semicolon" ? ';' : name == "tab" ? '\t' : ',';
}

/// One text, or the list that is the alternative `list`.
std::vector<std::string> texts_of(const Config& config, const std::string& list) {
  if (config.type() == list) return config.value<std::vector<std::string>>();
  return {config.value<std::string>()};
}

CsvForm form_of(const Config& config) {
  const auto list = [&](const char* key) { return config.get<std::vector<std::string>>(key); };
  CsvForm form{.separator = separator_of(config.get<std::string>("separator")),
               .targets = texts_of(config.at("target"), "columns"),
               .weight = config.has("weight") ? config.get<std::string>("weight") : "",
               .has_labels = config.get<std::string>("targets") == "labels",
               .ignore = list("ignore"),
               .numbers = list("numbers"),
               .categories = list("categories")};
  if (!config.is_word("header", "auto")) form.header = config.get<int>("header");
  return form;
}

/// Tables as text, one sample per line.
class Csv final : public Reader {
 public:
  Csv(const Config& config, const ReaderContext& context)
      : form_(form_of(config)),
        rules_(rules_of(config)),
        training_(context.training),
        has_labels_(form_.has_labels) {
    if (has_labels_ && form_.targets.size() != 1)
      config.fail("target", fmt::format("labels are one column, but {} are named", form_.targets.size()),
                  "`targets: numbers` with one column per class, 1 or 0, for several labels per sample");
    if (form_.targets.empty()) config.fail("target", "names no column");
    std::filesystem::path directory;  // that of the first training file
    for (auto& [key, files] : {std::pair{"train", &train_}, {"test", &test_}}) {
      if (!config.has(key)) continue;
      std::vector<std::string> names;
      for (const std::string& name : texts_of(config.at(key), "files")) {
        if (train_.empty() && names.empty()) directory = directory_of("csv", name, context.path);
        names.push_back((directory / name).string());
      }
      if (names.empty()) config.fail(key, "names no file");
      *files = matching_files(names);
    }
  }

  bool missing(std::vector<std::string>& looked_for) const override {
    bool none = true;
    for (const std::vector<std::string>* files : {&train_, &test_})
      for (const std::string& file : *files) {
        looked_for.push_back(file + "[.gz]");
        none = none && existing_file(file).empty();
      }
    return none;
  }

  DataSource open() override {
    DataSource source{.name = "csv"};
    CsvTable train = read_csv_files(train_, form_);
    if (form_.texts = mixed_columns(train); !form_.texts.empty()) train = read_csv_files(train_, form_);
    name_targets(has_labels_ ? classes_of(train) : target_names_of(train));
    set_types(train, training_rows(train), rules_);
    source.fingerprint.push_back(train.fingerprint);
    source.form = {
        .has_pixels = false, .columns = train.columns, .separator = train.separator, .header = train.header};
    if (!test_.empty()) {
      const CsvTable test = read_as_trained(test_, source.form.columns);
      source.fingerprint.push_back(test.fingerprint);
      source.test = split(test, source.form.columns);
    }
    source.train = split(train, source.form.columns);
    return source;
  }

  std::unique_ptr<Dataset> open_given(const GivenFiles& given) override {
    given.require({"TABLE"});
    name_targets(given.trained.class_names);
    return split(read_as_trained(matching_files(given.files), given.form.columns), given.form.columns);
  }

 private:
  CsvTable read_as_trained(const std::vector<std::string>& files,
                           const std::vector<TableColumn>& trained) const {
    CsvForm form = form_;
    form.trained = &trained;
    return read_csv_files(files, form);
  }
  /// The rows of the training file that no split holds out.
  std::vector<std::int64_t> training_rows(const CsvTable& table) const {
    if (training_)
      return training_(table.rows(), has_labels_ ? labels_of(table) : std::vector<std::int32_t>());
    std::vector<std::int64_t> all(table.lines.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  std::unique_ptr<Dataset> split(const CsvTable& table, const std::vector<TableColumn>& trained) const {
    if (!table.weights.empty() &&
        std::ranges::all_of(table.weights, [](float weight) { return weight == 0; }))
      table.fail(0, "no sample has a weight above 0", "the column of `weight` holds nothing else than 0");
    ValueSplit split{.info = {.size = table.rows(), .sample = {}, .has_weights = !table.weights.empty()},
                     .weights = table.weights};
    std::vector<float> targets;
    if (has_labels_) {
      split.info.classes = static_cast<int>(classes_.size());
      split.info.class_names.resize(classes_.size());
      for (const auto& [name, label] : classes_) split.info.class_names[label] = name;
      split.labels = labels_of(table);
    } else {
      split.info.class_names = target_names_;
      split.info.target = {std::ssize(form_.targets)};
      targets = target_values_of(table);
    }
    TableFeatures features(trained);
    std::vector<float> cells = cells_of(table, features);
    return std::make_unique<StoredTable>(std::move(split), std::move(features), std::move(cells),
                                         std::move(targets));
  }
  void name_targets(const std::vector<std::string>& names) {
    if (!has_labels_) target_names_ = names;
    for (std::size_t i = 0; has_labels_ && i < names.size(); ++i)
      classes_.emplace(names[i], static_cast<std::int32_t>(i));
  }
  /// Of the target columns, in the order of the targets; empty if the table names no columns.
  static std::vector<std::string> target_names_of(const CsvTable& table) {
    std::vector<std::string> names;
    for (const std::size_t column : table.target_columns) names.push_back(table.columns[column - 1].name);
    if (std::ranges::count(names, "") > 0) names.clear();
    return names;
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
  ColumnRules rules_;
  std::function<std::vector<std::int64_t>(std::int64_t, std::span<const std::int32_t>)> training_;
  bool has_labels_;
  std::vector<std::string> train_, test_;
  std::map<std::string, std::int32_t> classes_;
  std::vector<std::string> target_names_;  ///< of numbers
};

const Registry<Reader, const ReaderContext&>::Add csv_reader{
    {.name = "csv",
     .help = "tables as text, one sample per line: numbers, booleans and categories; plain or .gz",
     .settings =
         {either("train", "files of the training samples",
                 {text("file", "a file, or a pattern such as data/*.csv"),
                  list_of("files", "several files of one form", text("", "a file or a pattern"))}),
          either(
              "test",
              "files of the test samples; without them, data.validation takes some of the training samples",
              {text("file", "a file, or a pattern"),
               list_of("files", "several files of one form", text("", "a file or a pattern"))})
              .optional(),
          either("target", "the target column",
                 {text("column", "name of a column, or its number from 1"),
                  list_of("columns", "several columns, for `targets: numbers`",
                          text("", "name or number of a column"))}),
          choice("targets", "labels: the target column names classes; numbers: target columns hold numbers",
                 {"labels", "numbers"})
              .fallback("labels"),
          text("weight", "the column of the samples' weights, at least 0: the loss is the weighted mean")
              .optional(),
          list_of("ignore", "columns to leave out", text("", "name or number of a column")).fallback("[]"),
          list_of("numbers", "columns that hold numbers, whatever their fields look like",
                  text("", "name or number of a column"))
              .fallback("[]"),
          list_of("categories", "columns that hold categories, though their fields look like numbers",
                  text("", "name or number of a column"))
              .fallback("[]"),
          integer("max_categories",
                  "categories of a column that have an element of their own, the most frequent ones; the "
                  "others share one")
              .at_least(1)
              .at_most(100000)
              .fallback("64"),
          section("missing",
                  "what stands for a missing number. mean: that of the training samples; indicator: the "
                  "same, and an element of its own is 1; error: no value may be missing",
                  {real("constant", "stands for each missing number")})
              .or_word("mean")
              .or_word("indicator")
              .or_word("error")
              .fallback("mean"),
          integer("header",
                  "lines above the samples; the last one names the columns, if it has a field for each. "
                  "auto: recognised")
              .at_least(0)
              .at_most(1000)
              .or_word("auto")
              .fallback("auto"),
          choice("separator", "separator of fields; auto: recognised", {"auto", "comma", "semicolon", "tab"})
              .fallback("auto")}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<Csv>(config, context);
    }};

}  // namespace
}  // namespace trainer
