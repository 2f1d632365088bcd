#include "cli/commands/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "cli/terminal/text.h"
#include "models/checkpoints/run_directory.h"

namespace trainer {
namespace {

using Row = std::span<const float>;

void make_probabilities(std::span<float> scores) {
  const float highest = *std::ranges::max_element(scores);
  for (float& score : scores) score = std::exp(score - highest);
  const float sum = std::accumulate(scores.begin(), scores.end(), 0.0f);
  for (float& score : scores) score /= sum;
}

class Formatter {
 public:
  explicit Formatter(Predictions& predictions)
      : files_(predictions.files),
        outputs_(predictions.outputs),
        width_(files_.empty() ? 0 : outputs_.size() / files_.size()),
        names_(predictions.are_scores ? predictions.classes : std::vector<std::string>()),
        classifies_(predictions.are_scores) {}

  std::string best() const {
    std::vector<std::vector<std::string>> cells;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      cells.push_back({files_[i]});
      if (classifies_)
        add_best(row(i), cells.back());
      else
        for (const float number : row(i)) cells.back().push_back(short_number(number));
    }
    return table(cells, 1);
  }

  /// One object for each file, one line each.
  std::string json() const {
    std::string text;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      text += fmt::format(R"({{"file":{})", json_text(files_[i]));
      if (classifies_) text += fmt::format(R"(,"class":{})", likeliest(i));
      if (!names_.empty()) text += fmt::format(R"(,"name":{})", json_text(names_[likeliest(i)]));
      text += classifies_ ? R"(,"probabilities":[)" : R"(,"outputs":[)";
      const char* comma = "";
      for (const float number : row(i)) {
        text += comma + (std::isfinite(number) ? fmt::format("{:.6g}", number) : "null");
        comma = ",";
      }
      text += "]}\n";
    }
    return text;
  }

  /// RFC 4180, with a header: "file,class,cat,dog", or "file,0,1" if the model gives no classes.
  std::string csv() const {
    std::string text = classifies_ ? "file,class" : "file";
    for (std::size_t column = 0; column < width_; ++column) text += ',' + name(column);
    text += '\n';
    for (std::size_t i = 0; i < files_.size(); ++i) {
      text += field(files_[i]);
      if (classifies_) text += ',' + name(likeliest(i));
      for (const float number : row(i)) text += fmt::format(",{:.6g}", number);
      text += '\n';
    }
    return text;
  }

  /// NumPy's format, version 1.0 (numpy.lib.format), one row for each file.
  std::string npy() const {
    static_assert(std::endian::native == std::endian::little, "its type is called <f4");
    std::string header =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", files_.size(), width_);
    constexpr std::size_t kBefore = 10, kMultiple = 64;
    header.append(kMultiple - 1 - (kBefore + header.size()) % kMultiple, ' ');
    header += '\n';
    std::string text("\x93NUMPY\x01\x00", 8);
    text += static_cast<char>(header.size() % 256);
    text += static_cast<char>(header.size() / 256);
    const auto bytes = std::as_bytes(std::span(outputs_));
    return text + header + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

 private:
  Row row(std::size_t file) const { return Row(outputs_).subspan(file * width_, width_); }

  std::size_t likeliest(std::size_t file) const {
    return static_cast<std::size_t>(std::ranges::max_element(row(file)) - row(file).begin());
  }

  std::string name(std::size_t column) const {
    return names_.empty() ? std::to_string(column) : field(names_[column]);
  }

  static std::string field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
    return quoted + '"';
  }

  /// "7  99.8%  2  0.1%  3  0.0%"
  void add_best(Row probabilities, std::vector<std::string>& cells) const {
    std::vector<std::size_t> order(probabilities.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::size_t shown = std::min<std::size_t>(order.size(), 3);
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown), std::greater(),
                              [&](std::size_t i) { return probabilities[i]; });
    for (std::size_t i = 0; i < shown; ++i) {
      cells.push_back(names_.empty() ? std::to_string(order[i]) : names_[order[i]]);
      cells.push_back(fmt::format("{:.1f}%", 100 * probabilities[order[i]]));
    }
  }

  const std::vector<std::string>& files_;
  const std::vector<float>& outputs_;
  std::size_t width_;
  std::vector<std::string> names_;
  bool classifies_;
};

}  // namespace

std::string predictions_text(Predictions predictions, PredictionFormat format) {
  if (predictions.are_scores && !predictions.files.empty()) {
    const std::size_t width = predictions.outputs.size() / predictions.files.size();
    for (std::size_t first = 0; first < predictions.outputs.size(); first += width)
      make_probabilities(std::span(predictions.outputs).subspan(first, width));
  }
  const Formatter formatter(predictions);
  switch (format) {
    case PredictionFormat::best:
      return formatter.best();
    case PredictionFormat::json:
      return formatter.json();
    case PredictionFormat::csv:
      return formatter.csv();
    case PredictionFormat::npy:
      return formatter.npy();
  }
  return "";
}

}  // namespace trainer
