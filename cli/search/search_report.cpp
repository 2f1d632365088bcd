#include "cli/search/search_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/reports/html.h"
#include "cli/reports/parallel_coordinates.h"
#include "cli/search/space.h"
#include "cli/terminal/folder_path.h"
#include "cli/terminal/text.h"

namespace trainer {
namespace {

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
  return "<div class=\"wide plot\">" + svg_of(plot) + "</div>\n";
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

std::string search_report_html(const SearchFolder& folder, std::vector<EndedTrial> trials,
                               const ScoreFacts& facts, const Summary& summary) {
  const SearchPlan& plan = folder.plan();
  const TrialTable table(plan, facts);
  // The folds of one config are no rivals: none is the best.
  const bool compares = !plan.is_cross_validation();
  const std::string name = named_folder(folder.path()).filename().string();
  std::string text =
      fmt::format("<h1>{}</h1>\n<p>{} of {} have ended; {} {}, seed {}. {} {} of their best epoch.</p>\n",
                  html_text(name), trials.size(), counted(std::ssize(plan.trials), "trial"),
                  compares ? "method" : "cross-validation with", html_text(plan.method), plan.seed,
                  compares ? "They are compared by" : "They are scored by", html_text(facts.name()));
  if (compares)
    text += plot(plan, trials, facts, table);
  else
    std::ranges::sort(trials, {}, [](const EndedTrial& one) { return one.trial.number; });
  if (!summary.text.empty())
    text += fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", html_text(summary.heading), html_text(summary.text));
  text += compares ? "<h2>Trials, best first</h2>\n" : "<h2>Trials</h2>\n";
  return html_page(name, text + rows_of(folder, trials, table));
}

}  // namespace trainer
