#include "cli/commands/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "cli/terminal/text.h"
#include "engine/core/escape.h"
#include "engine/core/little_endian.h"
#include "models/checkpoints/run_directory.h"
#include "models/formats/npy.h"

namespace trainer {
namespace {

constexpr std::size_t kShown = 3;   // classes that people see
constexpr double kThreshold = 0.5;  // a label above it is present, as metrics have it by default

std::string number(float value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : "null"; }

template <class Values, class Text>
std::string list(const Values& values, Text text) {
  std::string all = "[";
  const char* comma = "";
  for (const auto& value : values) {
    all += comma + text(value);
    comma = ",";
  }
  return all + "]";
}

const char* unit_name(RawSample::Unit unit) { return unit == RawSample::Unit::line ? "line" : "row"; }

/// "a.png", "t.csv:3", "x.npy[0]"
std::string place_text(const Prediction& prediction) {
  if (prediction.unit == RawSample::Unit::line)
    return fmt::format("{}:{}", prediction.file, prediction.place);
  if (prediction.unit == RawSample::Unit::row)
    return fmt::format("{}[{}]", prediction.file, prediction.place);
  return prediction.file;
}

}  // namespace

PredictionWriter::PredictionWriter(AnswerForm form, const Options& options)
    : form_(std::move(form)), options_(options) {
  if (options_.top > 0 && !classifies() && !labels())
    throw Error(ExitCode::usage, "--top is for classes, and the model gives values", "leave --top out");
  if (options_.threshold && !labels())
    throw Error(ExitCode::usage, "--threshold is for independent labels, and the model gives none",
                "leave --threshold out");
}

std::string PredictionWriter::text(std::span<const Prediction> predictions) {
  std::string text;
  for (const Prediction& prediction : predictions) {
    if (!prediction.problem.empty()) continue;
    ++count_;
    if (!std::exchange(begun_, true)) {
      unit_ = prediction.unit;
      if (options_.format == PredictionFormat::csv) text += header();
    }
    switch (options_.format) {
      case PredictionFormat::best:
        text += best(prediction);
        break;
      case PredictionFormat::json:
        text += json(prediction);
        break;
      case PredictionFormat::csv:
        if (prediction.unit != unit_)
          throw Error(ExitCode::usage,
                      fmt::format("{} is of another kind than the samples before it", prediction.file),
                      "a command for each kind of input, or --json");
        text += csv(prediction);
        break;
      case PredictionFormat::npy:
        values_.insert(values_.end(), prediction.values.begin(), prediction.values.end());
        values_.resize(static_cast<std::size_t>(count_ * form_.shape.size()));
        break;
    }
  }
  return text;
}

/// One row for each sample.
std::string PredictionWriter::end() const {
  if (options_.format != PredictionFormat::npy) return "";
  return npy_header("<f4", form_.shape.with_front(count_)).append(LittleEndian(values_).text());
}

std::string PredictionWriter::name(std::size_t k) const {
  return form_.names.empty() ? std::to_string(k) : form_.names[k];
}

std::size_t PredictionWriter::shown(std::size_t fallback) const {
  const std::size_t top = options_.top > 0 ? static_cast<std::size_t>(options_.top) : fallback;
  return std::min(top, static_cast<std::size_t>(form_.size));
}

std::vector<std::size_t> PredictionWriter::likeliest(std::span<const float> answer, std::size_t count) const {
  std::vector<std::size_t> order(answer.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Of equal ones the first, so that the order does not depend on the sorting. NaN comes last.
  const auto value = [&](std::size_t k) {
    return std::isnan(answer[k]) ? -std::numeric_limits<float>::infinity() : answer[k];
  };
  const auto is_before = [&](std::size_t a, std::size_t b) {
    return value(a) != value(b) ? value(a) > value(b) : a < b;
  };
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), is_before);
  order.resize(count);
  return order;
}

std::vector<std::size_t> PredictionWriter::labels_of(std::span<const float> answer) const {
  const double threshold = options_.threshold.value_or(kThreshold);
  const auto count = std::ranges::count_if(answer, [&](float value) { return value > threshold; });
  return likeliest(answer, static_cast<std::size_t>(count));
}

std::vector<std::size_t> PredictionWriter::classes_of(const Prediction& prediction) const {
  const auto size = static_cast<std::size_t>(form_.size);
  std::vector<std::size_t> classes;
  for (std::size_t first = 0; first < prediction.values.size(); first += size)
    classes.push_back(likeliest(std::span(prediction.values).subspan(first, size), 1).front());
  return classes;
}

/// "7  99.8%  2  0.1%  3  0.0%"; of an answer for each position the shares of the classes; of independent
/// labels those that are present.
std::string PredictionWriter::best(const Prediction& prediction) {
  std::vector<std::string> cells{place_text(prediction)};
  if (options_.has_ids) cells.push_back(prediction.id);
  if (classifies()) {
    std::vector<float> shares = prediction.values;
    if (form_.has_positions) {
      shares.assign(static_cast<std::size_t>(form_.size), 0);
      for (const std::size_t one : classes_of(prediction))
        shares[one] += 1 / static_cast<float>(prediction.positions);
    }
    for (const std::size_t k : likeliest(shares, shown(kShown))) {
      cells.push_back(name(k));
      cells.push_back(fmt::format("{:.1f}%", 100 * shares[k]));
    }
  } else if (labels()) {
    const std::vector<std::size_t> order =
        options_.top > 0 ? likeliest(prediction.values, shown(1)) : labels_of(prediction.values);
    for (const std::size_t k : order) {
      cells.push_back(name(k));
      cells.push_back(fmt::format("{:.1f}%", 100 * prediction.values[k]));
    }
    if (order.empty()) cells.emplace_back("none");
  } else {
    for (const float value : prediction.values) cells.push_back(short_number(value));
  }
  if (widths_.size() < cells.size()) widths_.resize(cells.size());
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = escaped(cells[i]);
    const std::size_t width = columns_of(cell);
    widths_[i] = std::max(widths_[i], width);
    const std::string padding(widths_[i] - width, ' ');
    // The first column begins at the left, the others end at the right.
    if (i > 0) line.append("  ").append(padding);
    line += cell;
    if (i == 0) line += padding;
  }
  return line + "\n";
}

/// One object for each sample, one line each.
std::string PredictionWriter::json(const Prediction& prediction) const {
  std::string text = fmt::format(R"({{"file":{})", json_text(prediction.file));
  if (prediction.unit != RawSample::Unit::file)
    text += fmt::format(R"(,"{}":{})", unit_name(prediction.unit), prediction.place);
  if (options_.has_ids) text += fmt::format(R"(,"id":{})", json_text(prediction.id));
  const auto as_text = [](std::size_t k) { return std::to_string(k); };
  const auto as_name = [&](std::size_t k) { return json_text(name(k)); };
  const auto top = [&](const char* kind) {
    return R"(,"top":)" + list(likeliest(prediction.values, shown(1)), [&](std::size_t k) {
             const std::string named = form_.names.empty() ? "" : R"(,"name":)" + as_name(k);
             return fmt::format(R"({{"{}":{}{},"probability":{}}})", kind, k, named,
                                number(prediction.values[k]));
           });
  };
  if (classifies() && form_.has_positions) {
    text += R"(,"classes":)" + list(classes_of(prediction), as_text);
  } else if (classifies()) {
    const std::vector<std::size_t> order = likeliest(prediction.values, shown(1));
    text += fmt::format(R"(,"class":{})", order.front());
    if (!form_.names.empty()) text += fmt::format(R"(,"name":{})", json_text(name(order.front())));
    text += options_.top > 0 ? top("class") : R"(,"probabilities":)" + list(prediction.values, number);
  } else if (labels()) {
    const std::vector<std::size_t> present = labels_of(prediction.values);
    text += R"(,"labels":)" + list(present, as_text) + R"(,"names":)" + list(present, as_name);
    text += options_.top > 0 ? top("label") : R"(,"probabilities":)" + list(prediction.values, number);
  } else {
    text += (form_.link == Link::sigmoid ? R"(,"probabilities":)" : R"(,"outputs":)") +
            list(prediction.values, number);
  }
  return text + "}\n";
}

/// "file,class,cat,dog", or "file,line,0,1" if the model gives no classes.
std::string PredictionWriter::header() {
  std::string text = "file";
  if (unit_ != RawSample::Unit::file) text += std::string(",") + unit_name(unit_);
  if (options_.has_ids) text += ",id";
  const auto add_columns = [&](std::int64_t count, bool named) {
    for (std::int64_t k = 0; k < count; ++k)
      text += ',' + (named ? csv_field(name(static_cast<std::size_t>(k))) : std::to_string(k));
  };
  if (classifies() && form_.has_positions) {
    add_columns(form_.shape.size() / form_.size, false);
  } else if (classifies()) {
    text += ",class";
    if (options_.top > 0) text += ",probability";
    for (std::size_t k = 2; k <= shown(1); ++k) text += fmt::format(",class_{0},probability_{0}", k);
    if (options_.top == 0) add_columns(form_.size, true);
  } else if (options_.top > 0) {
    text += ",label,probability";
    for (std::size_t k = 2; k <= shown(1); ++k) text += fmt::format(",label_{0},probability_{0}", k);
  } else {
    add_columns(form_.shape.size(), !form_.has_positions);
  }
  return text + '\n';
}

std::string PredictionWriter::csv(const Prediction& prediction) const {
  std::string text = csv_field(prediction.file);
  if (unit_ != RawSample::Unit::file) text += fmt::format(",{}", prediction.place);
  if (options_.has_ids) text += ',' + csv_field(prediction.id);
  if (classifies() && form_.has_positions) {
    for (const std::size_t one : classes_of(prediction)) text += ',' + csv_field(name(one));
  } else if (options_.top > 0) {
    for (const std::size_t k : likeliest(prediction.values, shown(1)))
      text += fmt::format(",{},{:.6g}", csv_field(name(k)), prediction.values[k]);
  } else {
    if (classifies()) text += ',' + csv_field(name(likeliest(prediction.values, 1).front()));
    for (const float value : prediction.values) text += fmt::format(",{:.6g}", value);
  }
  return text + '\n';
}

}  // namespace trainer
