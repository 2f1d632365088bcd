#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "datasets/readers/csv_table.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/numbers.h"
#include "engine/config/registry.h"

namespace trainer {
namespace {

constexpr std::size_t kMostClasses = 1 << 20;

/// Hands over what a table's file held.
class CsvNumbers final : public NumberFiles {
 public:
  explicit CsvNumbers(CsvTable table, std::vector<float> targets)
      : table_(std::move(table)), targets_(std::move(targets)) {}
  void read(std::span<float> samples, std::span<float> targets) override {
    std::ranges::copy(table_.numbers, samples.begin());
    std::ranges::copy(targets_, targets.begin());
  }

 private:
  CsvTable table_;
  std::vector<float> targets_;
};

/// The distinct targets: in order of number when all are integers, else of text.
std::vector<std::string> classes_of(const CsvTable& table) {
  const std::set<std::string> distinct(table.targets.begin(), table.targets.end());
  std::vector<std::string> classes(distinct.begin(), distinct.end());
  if (classes.size() > kMostClasses)
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

/// Tables of numbers as text, a sample a line.
class Csv final : public Reader {
 public:
  Csv(const Config& config, const ReaderContext& context)
      : form_{.separator = separator_of(config.get<std::string>("separator")),
              .header = config.get<int>("header"),
              .targets = columns_of(config.at("target")),
              .ignore = config.get<std::vector<std::string>>("ignore")},
        has_labels_(config.get<std::string>("targets") == "labels") {
    if (has_labels_ && form_.targets.size() != 1)
      config.fail("target", fmt::format("a class stands in one column, here are {}", form_.targets.size()),
                  "`targets: numbers`, 1 for each label that a sample has and 0 for others");
    if (form_.targets.empty()) config.fail("target", "no column is named");
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
    if (!test_.empty()) {
      CsvTable test = read(test_, source);
      if (test.columns != columns)
        test.fail(0, "test samples differ from training samples",
                  fmt::format("{} numbers here, {} in training", test.columns, columns));
      source.test = split(std::move(test));
    }
    source.train = split(std::move(train));
    return source;
  }

 private:
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
    NumberForm form{.size = table.rows(), .sample = {table.columns}};
    std::vector<float> numbers;
    const std::int64_t targets = std::ssize(form_.targets);
    for (std::int64_t i = 0; i < std::ssize(table.targets); ++i) {
      const std::string& target = table.targets[static_cast<std::size_t>(i)];
      const std::int64_t row = i / targets;
      if (has_labels_) {
        const auto found = classes_.find(target);
        if (found == classes_.end())
          table.fail(
              row, "a class that is not in training",
              fmt::format("`{}` is none of the {} classes there", target.substr(0, 40), classes_.size()));
        form.labels.push_back(found->second);
      } else {
        double number = 0;
        if (!parse_number(target, number))
          table.fail(row, fmt::format("the target wants a number, got `{}`", target.substr(0, 40)),
                     "`targets: labels` for classes");
        numbers.push_back(static_cast<float>(number));
      }
    }
    form.classes = static_cast<int>(classes_.size());
    if (!has_labels_) form.target = {targets};
    return std::make_unique<Numbers>(std::move(form),
                                     std::make_unique<CsvNumbers>(std::move(table), std::move(numbers)));
  }

  CsvForm form_;
  bool has_labels_;
  std::string train_, test_;
  std::map<std::string, std::int32_t> classes_;
};

const Registry<Reader, const ReaderContext&>::Add registered{
    {.name = "csv",
     .help = "tables of numbers as text, a sample a line; plain or .gz",
     .settings =
         {text("train", "file of the training samples"),
          text("test", "file of the test samples; without one, data.validation sets some apart").optional(),
          either("target", "what is to be learnt",
                 {text("column", "a column's name, or its number from 1"),
                  list_of("columns", "several of them, for `targets: numbers`", text("", "a column"))}),
          choice("targets", "what the target column holds: classes, or numbers", {"labels", "numbers"})
              .fallback("labels"),
          list_of("ignore", "columns left out, by name or number from 1", text("", "a column"))
              .fallback("[]"),
          integer("header", "lines above the samples; the last names the columns, if it has as many fields")
              .at_least(0)
              .at_most(1000)
              .fallback("1"),
          choice("separator", "what stands between fields", {"comma", "semicolon", "tab"})
              .fallback("comma")}},
    [](const Config& config, const ReaderContext& context) {
      return std::make_unique<Csv>(config, context);
    }};

}  // namespace
}  // namespace trainer
