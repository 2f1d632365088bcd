#include "cli/reports/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/reports/chart.h"
#include "cli/reports/html.h"
#include "cli/terminal/text.h"
#include "engine/config/source.h"

namespace trainer {
namespace {

/// The scores of all runs, each once.
std::vector<std::string> score_names(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> names;
  for (const ComparedRun& run : runs)
    for (const std::string& name : run.log.names)
      if (std::ranges::count(names, name) == 0) names.push_back(name);
  return names;
}

Curve curve_of(const ComparedRun& run, const std::string& score, bool training) {
  Curve curve{.name = run.name};
  const auto found = std::ranges::find(run.log.names, score);
  if (found == run.log.names.end()) return curve;
  const auto index = static_cast<std::size_t>(found - run.log.names.begin());
  for (const RunLog::Row& row : run.log.rows)
    if (row.is_training == training)
      curve.points.push_back({static_cast<double>(row.step), row.scores[index]});
  return curve;
}

constexpr std::size_t kMostDrawn = 8;  // colours of a chart

/// The first runs that have a score.
std::vector<const ComparedRun*> drawn_runs(const std::vector<ComparedRun>& runs, const std::string& score) {
  std::vector<const ComparedRun*> drawn;
  for (const ComparedRun& run : runs)
    if (drawn.size() < kMostDrawn && !run.log.rows.empty() && std::ranges::count(run.log.names, score) > 0)
      drawn.push_back(&run);
  return drawn;
}

std::string charts(const std::vector<ComparedRun>& runs) {
  std::string text;
  for (const std::string& score : score_names(runs)) {
    const std::vector<const ComparedRun*> drawn = drawn_runs(runs, score);
    const bool is_fraction =
        std::ranges::any_of(drawn, [&](const auto* run) { return run->log.fractions.contains(score); });
    for (const bool training : {false, true}) {
      Chart chart{.title = score + (training ? ", training" : ", evaluations"),
                  .may_be_logarithmic = score == "loss",
                  .is_fraction = is_fraction};
      for (const ComparedRun* run : drawn) chart.curves.push_back(curve_of(*run, score, training));
      text += svg_of(chart);
    }
  }
  if (text.empty()) return "";
  const std::string note =
      runs.size() > kMostDrawn
          ? fmt::format("<p>Of the first {} runs of the table that have a score.</p>\n", kMostDrawn)
          : "";
  return "<h2>Curves</h2>\n" + note + "<div class=\"charts\">" + text + "</div>\n";
}

/// A table of texts.
std::string facts(const std::vector<std::vector<std::string>>& rows) {
  return "<div class=\"facts\">" + html_table(rows) + "</div>\n";
}

std::string machines(const std::vector<ComparedRun>& runs) {
  std::vector<std::vector<std::string>> rows{{"run", "machine"}};
  for (const ComparedRun& run : runs) rows.push_back({run.name, run.machine});
  return "<h2>Machines</h2>\n" + facts(rows);
}

}  // namespace

std::string comparison_html(const std::vector<ComparedRun>& runs,
                            const std::vector<std::vector<std::string>>& results,
                            const std::vector<std::vector<std::string>>& settings) {
  const std::string title = counted(std::ssize(runs), "run");
  std::string text =
      fmt::format("<h1>{}</h1>\n<h2>Results</h2>\n{}", title, html_table(results)) + charts(runs);
  text += settings.size() > 1 ? "<h2>Settings that differ</h2>\n" + facts(settings)
                              : "<p>All settings are the same.</p>\n";
  return html_page(title, text + machines(runs));
}

std::string machine_text(const std::string& json) {
  const auto facts = nlohmann::json::parse(json, nullptr, false);
  if (!facts.is_object()) return "";
  const auto number = [&](const char* key) {
    const auto found = facts.find(key);
    return found != facts.end() && found->is_number_integer() ? found->get<std::int64_t>() : 1;
  };
  std::string text = counted(number("ranks"), "rank") + " x " + counted(number("threads"), "thread");
  std::vector<std::string> hosts;
  if (const auto found = facts.find("hosts"); found != facts.end() && found->is_array())
    for (const auto& host : *found)
      if (host.is_string()) hosts.push_back(host.get<std::string>());
  if (!hosts.empty()) text += " on " + listed(hosts, "and");
  if (const auto cpu = facts.find("cpu"); cpu != facts.end() && cpu->is_string())
    text += ", " + cpu->get<std::string>();
  return text;
}

}  // namespace trainer
