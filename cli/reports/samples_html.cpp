#include "cli/reports/samples_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/reports/html.h"
#include "cli/terminal/text.h"
#include "datasets/readers/png.h"
#include "engine/core/base64.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

std::string text_at(const Json& sample, const char* key) {
  const auto found = sample.find(key);
  if (found == sample.end()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (found->is_number()) return short_number(found->get<double>());
  std::string text;
  if (found->is_array())
    for (const Json& one : *found)
      if (one.is_number()) text += (text.empty() ? "" : ", ") + short_number(one.get<double>());
  return text;
}

/// A class and its score: "8" and "97.1%"; or the values of the outputs.
struct Prediction {
  std::string name, score;
};
std::vector<Prediction> predictions_of(const Json& sample, bool are_probabilities) {
  const auto found = sample.find("predicted");
  if (found == sample.end() || !found->is_array()) return {};
  std::vector<Prediction> predictions;
  for (const Json& one : *found)
    if (one.is_array() && one.size() == 2 && one[0].is_string() && one[1].is_number())
      predictions.push_back({one[0].get<std::string>(), are_probabilities
                                                            ? fraction_text(one[1].get<double>(), 1)
                                                            : short_number(one[1].get<double>())});
  return predictions;
}

/// True if the likeliest class is that of the sample.
bool is_right(const Json& sample) {
  const std::vector<Prediction> predictions = predictions_of(sample, false);
  return !predictions.empty() && predictions.front().name == text_at(sample, "target");
}

/// Null becomes infinity: JSON has no other way to write it.
std::string loss_of(const Json& sample) {
  const auto found = sample.find("loss");
  return found != sample.end() && found->is_null() ? "inf" : text_at(sample, "loss");
}

/// An image in an <img>; empty unless `text` is a PNG in base64.
std::string img(const std::string& text) {
  const auto bytes = bytes_of_base64(text);
  if (!bytes) return "";
  const std::vector<std::uint8_t> file(bytes->begin(), bytes->end());
  return is_png(file) ? R"(<img alt="" src="data:image/png;base64,)" + base64(*bytes) + "\">" : "";
}

/// A row for each sample.
std::string rows_html(const Json& samples, bool are_probabilities) {
  std::vector<std::vector<std::string>> rows{{"sample", "loss", "target", "predicted"}};
  for (const Json& sample : samples) {
    std::string predicted = text_at(sample, "outputs");
    for (const auto& [name, score] : predictions_of(sample, are_probabilities))
      predicted += fmt::format("{}{}:\u00a0{}", predicted.empty() ? "" : ", ", name, score);
    rows.push_back({text_at(sample, "index"), loss_of(sample), text_at(sample, "target"), predicted});
    if (!sample.contains("fields") || !sample["fields"].is_array()) continue;
    for (const Json& field : sample["fields"]) {
      if (!field.is_array() || field.size() != 2 || !field[0].is_string() || !field[1].is_string()) continue;
      if (rows.size() == 2) rows.front().push_back(field[0].get<std::string>());
      rows.back().push_back(field[1].get<std::string>());
    }
  }
  return html_table(rows);
}

/// A card for each sample.
std::string cards_html(const Json& samples, bool are_probabilities) {
  const bool are_texts = samples.front().contains("text");
  std::string text = fmt::format("<div class=\"samples{}\">\n", are_texts ? " texts" : "");
  for (const Json& sample : samples) {
    text += "<figure>" + img(text_at(sample, "image"));
    if (const std::string words = text_at(sample, "text"); !words.empty())
      text += "<blockquote>" + html_text(words) + "</blockquote>";
    if (const std::string values = text_at(sample, "values"); !values.empty())
      text += "<code>" + html_text(values) + "</code>";
    text += "<figcaption>";
    if (const std::string target = text_at(sample, "target"); !target.empty())
      text += "<b>" + html_text(target) + "</b><br>";
    for (const auto& [name, score] : predictions_of(sample, are_probabilities))
      text += fmt::format("<bdi>{}</bdi>: {}<br>", html_text(name), score);
    if (const std::string outputs = text_at(sample, "outputs"); !outputs.empty())
      text += html_text(outputs) + "<br>";
    text += fmt::format("loss {}<br>sample {}</figcaption></figure>\n", html_text(loss_of(sample)),
                        html_text(text_at(sample, "index")));
  }
  return text + "</div>\n";
}

/// The samples at `key`; none unless all are objects.
std::vector<Json> samples_at(const Json& json, const char* key) {
  const Json found = json.value(key, Json());
  if (!found.is_array() || !std::ranges::all_of(found, [](const Json& one) { return one.is_object(); }))
    return {};
  return {found.begin(), found.end()};
}

std::string section(const std::string& heading, const std::string& what, const Json& samples,
                    bool are_probabilities) {
  const auto html = samples.front().contains("fields") ? rows_html : cards_html;
  return fmt::format("<h2>{}</h2>\n<p>{}</p>\n{}", heading, what, html(samples, are_probabilities));
}

bool have_outputs(const std::vector<Json>& samples) {
  return samples.front().contains("predicted") || samples.front().contains("outputs");
}

std::string worst_html(std::vector<Json> samples, const std::string& split, bool are_probabilities) {
  constexpr const char* kHeading = "Worst mistakes";
  const std::size_t all = samples.size();
  std::erase_if(samples, is_right);
  if (samples.empty())
    return fmt::format(
        "<h2>{}</h2>\n<p>Not one of the {} samples of the {} split with the highest loss is predicted "
        "wrong.</p>\n",
        kHeading, all, split);
  const char* const rest = !have_outputs(samples) ? "."
                           : samples.size() < all
                               ? ", without those that are predicted right: what they are, and what the "
                                 "network predicts."
                               : ": what they are, and what the network predicts.";
  return section(kHeading, fmt::format("The samples of the {} split with the highest loss{}", split, rest),
                 samples, are_probabilities);
}

}  // namespace

std::string samples_html(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return "";
  const std::string split = html_text(text_at(json, "split"));
  const bool are_probabilities = json.contains("probabilities") && json["probabilities"] == true;
  std::string html;
  if (std::vector<Json> worst = samples_at(json, "worst"); !worst.empty())
    html += worst_html(std::move(worst), split, are_probabilities);
  if (const std::vector<Json> spread = samples_at(json, "spread"); !spread.empty())
    html += section(have_outputs(spread) ? "Predictions" : "Samples",
                    fmt::format("Samples at equal distances over the {} split.", split), spread,
                    are_probabilities);
  return html;
}

}  // namespace trainer
