#include "cli/reports/confusion_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cli/terminal/text.h"
#include "engine/core/escape.h"

namespace trainer {
namespace {

class ConfusionTable {
 public:
  ConfusionTable(std::span<const double> counts, const std::vector<std::string>& names)
      : counts_(counts),
        names_(names),
        classes_(static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(counts.size()))))) {}

  /// `is_short`: columns are indices, which rows show beside the names.
  std::string matrix(bool is_short) const {
    std::vector<std::vector<std::string>> rows{{"class"}};
    for (std::size_t column = 0; column < classes_; ++column)
      rows.front().push_back(is_short ? std::to_string(column) : name(column));
    for (std::size_t row = 0; row < classes_; ++row) {
      rows.push_back({is_short && has_names() ? fmt::format("{} {}", row, name(row)) : name(row)});
      for (std::size_t column = 0; column < classes_; ++column)
        rows.back().push_back(grouped(count(row, column)));
    }
    return "confusion: a row for each true class, a column for each predicted one\n" + table(rows, 1);
  }

  std::string frequent_mistakes() const {
    constexpr std::size_t kMost = 20;
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < counts_.size(); ++place)
      if (place / classes_ != place % classes_ && counts_[place] > 0) places.push_back(place);
    std::ranges::stable_sort(places, std::greater(), [&](std::size_t place) { return counts_[place]; });
    if (places.empty()) return "confusion: no mistakes\n";
    std::vector<std::vector<std::string>> rows{{"class", "predicted", "samples"}};
    for (const std::size_t place : std::span(places).first(std::min(places.size(), kMost)))
      rows.push_back({name(place / classes_), name(place % classes_),
                      grouped(count(place / classes_, place % classes_))});
    std::string text = "confusion: the most frequent mistakes\n" + table(rows, 2);
    if (places.size() > kMost)
      text += "and " + counted(std::ssize(places) - std::int64_t{kMost}, "other pair") + "\n";
    return text;
  }

 private:
  bool has_names() const { return names_.size() == classes_; }
  std::string name(std::size_t number) const {
    return has_names() ? escaped(names_[number]) : std::to_string(number);
  }
  std::int64_t count(std::size_t row, std::size_t column) const {
    return std::llround(counts_[row * classes_ + column]);
  }

  std::span<const double> counts_;
  const std::vector<std::string>& names_;
  std::size_t classes_;
};

bool fits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (columns_of(line) > kTextColumns) return false;
  return true;
}

}  // namespace

std::string confusion_table(std::span<const double> counts, const std::vector<std::string>& names) {
  const ConfusionTable confusion(counts, names);
  for (const bool is_short : {false, true})
    if (std::string text = confusion.matrix(is_short); fits(text)) return text;
  return confusion.frequent_mistakes();
}

}  // namespace trainer
