#include "cli/search/search_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/reports/html.h"
#include "cli/reports/parallel_coordinates.h"
#include "cli/search/space.h"
#include "cli/terminal/text.h"

namespace trainer {
namespace {

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--page:#fff;--text:#1c1e21;--faint:#6b7280;--line:#e3e5e8;--c0:#2563eb;--c1:#d97706}
@media(prefers-color-scheme:dark){:root{--page:#15171a;--text:#e4e6e9;--faint:#949ba6;--line:#2c3036;--c0:#6ea0ff;
--c1:#f5a942}}
body{margin:2rem auto;max-width:84rem;padding:0 1.5rem;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,sans-serif}
h1{margin-bottom:0}h2{margin-top:2.5rem;font-size:1.15rem}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.15rem .7rem;text-align:right;border-bottom:1px solid var(--line)}th{color:var(--faint);font-weight:500}
pre{overflow-x:auto;padding:1rem;border:1px solid var(--line);border-radius:6px;font-size:13px}
svg{width:100%;min-width:40rem;max-height:34rem;font-size:12px}svg text{fill:var(--faint)}svg .title{fill:var(--text);font-weight:600}
.axis{stroke:var(--faint)}.trial{fill:none;stroke:var(--c0);stroke-width:1.6}.trial:hover{stroke-width:4;opacity:1}
.best{stroke:var(--c1);stroke-width:3}
)";

/// The axis of a key: the range of its space, or of the values that it has if it has none.
struct KeyAxis {
  ParallelCoordinates::Axis axis;
  std::optional<Space> space;
};

KeyAxis axis_of(const std::string& name, const std::string& space) {
  KeyAxis key{.axis = {.title = name}, .space = Space::parse(space)};
  if (!key.space) return key;
  if (const auto& points = key.space->points(); !points.empty())
    key.axis.low = points.front(), key.axis.high = points.back();
  else
    key.axis.low = key.space->at(0), key.axis.high = key.space->at(1);
  return key;
}

std::string plot(const SearchPlan& plan, const std::vector<EndedTrial>& trials, const ScoreFacts& facts,
                 const TrialTable& table) {
  std::vector<EndedTrial> scored;
  for (const EndedTrial& one : trials)
    if (!one.outcome.has_failed()) scored.push_back(one);
  if (scored.empty()) return "";
  std::vector<KeyAxis> keys;
  ParallelCoordinates plot;
  const std::vector<std::string> names = short_names(plan.keys);
  for (std::size_t i = 0; i < names.size(); ++i) {
    keys.push_back(axis_of(names[i], plan.spaces[i]));
    plot.axes.push_back(keys.back().axis);
  }
  const auto [least, most] =
      std::ranges::minmax(scored, {}, [](const EndedTrial& one) { return one.outcome.score(); });
  const double low = least.outcome.score(), high = most.outcome.score();
  const auto text = [&](double score) {
    return facts.metrics.empty() ? loss_text(score) : metric_text(facts.metrics[0], score, 2);
  };
  plot.axes.push_back({.title = facts.name(), .low = text(low), .high = text(high)});
  const double best = scored.front().outcome.score();
  const double span = std::max(std::abs(high - best), std::abs(low - best));
  for (const auto& [trial, outcome] : scored) {
    ParallelCoordinates::Line line{.rank = span > 0 ? std::abs(outcome.score() - best) / span : 0};
    const std::vector<std::string> titles = table.titles(), cells = table.cells(trial, outcome);
    for (std::size_t i = 0; i < cells.size(); ++i)
      line.title += fmt::format("{}{} {}", i == 0 ? "" : "\n", titles[i], cells[i]);
    for (std::size_t i = 0; i < keys.size(); ++i)
      line.places.push_back(keys[i].space ? keys[i].space->place_of(trial.values[i]) : 0.5);
    line.places.push_back(high > low ? (outcome.score() - low) / (high - low) : 0.5);
    plot.lines.push_back(std::move(line));
  }
  return "<div class=\"wide\">" + svg_of(plot) + "</div>\n";
}

std::string rows_of(const SearchFolder& folder, const std::vector<EndedTrial>& trials,
                    const TrialTable& table) {
  std::string text = "<div class=\"wide\"><table>\n<tr>";
  for (const std::string& title : table.titles()) text += "<th>" + html_text(title) + "</th>";
  text += "</tr>\n";
  for (const auto& [trial, outcome] : trials) {
    const std::string run = folder.run_of(trial).filename().string();
    std::vector<std::string> cells = table.cells(trial, outcome);
    text += fmt::format("<tr><td><a href=\"trials/{}/report.html\">{}</a></td>", run, trial.number);
    for (std::size_t i = 1; i < cells.size(); ++i) text += "<td>" + html_text(cells[i]) + "</td>";
    if (outcome.has_failed())
      text += fmt::format("<td colspan=\"{}\">failed with code {}: {}</td>",
                          table.titles().size() - cells.size(), outcome.code, html_text(outcome.message));
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

}  // namespace

std::string search_report_html(const SearchFolder& folder, const std::vector<EndedTrial>& trials,
                               const ScoreFacts& facts, const Summary& summary) {
  const SearchPlan& plan = folder.plan();
  const TrialTable table(plan, facts);
  const std::string name =
      html_text((folder.path() / "").lexically_normal().parent_path().filename().string());
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n"
      "<style>{1}</style></head>\n<body>\n<h1>{0}</h1>\n<p>{2} of {3} have ended; method {4}, seed {5}. "
      "They are compared by {6} of their best epoch.</p>\n",
      name, kStyle, trials.size(), counted(std::ssize(plan.trials), "trial"), html_text(plan.method),
      plan.seed, html_text(facts.name()));
  text += plot(plan, trials, facts, table);
  if (!summary.text.empty())
    text += fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", html_text(summary.heading), html_text(summary.text));
  return text + "<h2>Trials, best first</h2>\n" + rows_of(folder, trials, table) + "</body></html>\n";
}

}  // namespace trainer
