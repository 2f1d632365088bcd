#include "cli/reports/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <sstream>

#include "cli/reports/chart.h"
#include "cli/reports/gradient_charts.h"
#include "cli/reports/marked_config.h"
#include "cli/reports/rank_times.h"
#include "cli/reports/reviewed_samples.h"
#include "cli/reports/run_log.h"
#include "cli/reports/samples_html.h"
#include "cli/reports/weights_section.h"
#include "cli/terminal/folder_path.h"
#include "cli/terminal/text.h"
#include "datasets/readers/csv_text.h"
#include "engine/config/config_tree.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/run_directory.h"
#include "models/training/settings.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestText = std::uint64_t{1} << 28;
std::string read_if_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? read_file(path, ExitCode::failure, kLargestText) : "";
}

/// The records of a CSV file, up to one that this program cannot have written; none if there is no file.
std::vector<std::vector<std::string>> rows_of(const fs::path& path) {
  const std::string name = path.string(), csv = read_if_there(path);
  std::vector<std::vector<std::string>> rows;
  try {
    for (CsvText records(name, csv, ','); !records.at_end();) rows.push_back(records.next());
  } catch (const Error&) {
  }
  return rows;
}

/// What else than computing took at least a percent of the time.
std::string time_shares(const RunLog::Row& last) {
  std::string text;
  for (const auto& [share, name] :
       {std::pair(last.comm_share, "communication"), std::pair(last.wait_share, "waiting for other ranks"),
        std::pair(last.data_share, "waiting for data")})
    if (share >= 0.01)
      text += fmt::format("{} {:.0f}% {}{}", text.empty() ? " Of the last epoch" : ",", 100 * share,
                          text.empty() ? "was " : "", name);
  if (!text.empty() && last.slow_rank >= 0) text += fmt::format("; rank {:.0f} is slow", last.slow_rank);
  return text.empty() ? "" : text + ".";
}

std::string outcome(const RunLog& log) {
  if (log.rows.empty()) return "No step has been logged.";
  const RunLog::Row& last = log.rows.back();
  std::string text =
      fmt::format("{} (epoch {}) in {}", counted(last.step, "step"), last.epoch, seconds_text(last.time));
  if (const RunLog::Row* best = log.best_evaluation()) {
    text += fmt::format(". {} at step {}:", log.best_step >= 0 ? "Best weights" : "Last evaluation",
                        grouped(best->step));
    for (std::size_t i = 0; i < log.names.size(); ++i)
      text += fmt::format("{} {} {} {}", i == 0 ? "" : ",", log.evaluation_split, log.names[i],
                          log.score_text(i, best->scores[i]));
  }
  return text + "." + time_shares(last);
}

template <class Value>
Curve curve_of(const RunLog& log, const std::string& name, bool training, const Value& value) {
  Curve curve{.name = name};
  for (const RunLog::Row& row : log.rows)
    if (row.is_training == training) curve.points.push_back({static_cast<double>(row.step), value(row)});
  return curve;
}

std::string charts(const RunLog& log) {
  std::string text;
  if (log.rows.empty()) return text;
  const auto first = static_cast<double>(log.rows.front().step),
             last = static_cast<double>(std::max(log.rows.back().step, log.last_step));
  for (std::size_t i = 0; i < log.names.size(); ++i) {
    const auto score = [&](const RunLog::Row& row) { return row.scores[i]; };
    Chart chart{.title = log.names[i],
                .may_be_logarithmic = i == 0,
                .is_fraction = log.fractions.contains(log.names[i]),
                .x_low = first,
                .x_high = last};
    if (const RunLog::Row* best = log.best_evaluation(); best && log.best_step >= 0)
      chart.marks = {{.x = static_cast<double>(best->step), .y = best->scores[i], .text = "best"}};
    chart.curves.push_back(curve_of(log, "train", true, score));
    if (!log.evaluation_split.empty())
      chart.curves.push_back(curve_of(log, log.evaluation_split, false, score));
    text += svg_of(chart);
  }
  text += svg_of({.title = "learning rate",
                  .curves = {curve_of(log, "learning rate", true, [](const auto& row) { return row.rate; })},
                  .x_low = first,
                  .x_high = last});
  text += svg_of(
      {.title = "examples/s",
       .curves = {curve_of(log, "examples/s", true, [](const auto& row) { return row.examples_per_second; })},
       .x_low = first,
       .x_high = last});
  if (text.empty()) return "";
  return "<h2>Curves</h2>\n<p>By step; train as logged, before each update. Point at a curve to read "
         "its values.</p>\n"
         "<div class=\"charts\">" +
         text + "</div>\n";
}

std::string gradients(const fs::path& run) {
  const std::vector<std::vector<std::string>> rows = rows_of(run / "gradients.csv");
  if (rows.empty()) return "";
  std::string text;
  for (const Chart& chart : gradient_charts(rows)) text += svg_of(chart);
  if (text.empty())
    return "<h2>Gradients</h2>\n<p>No step has been logged: the run has fewer steps than "
           "train.log_every.</p>\n";
  return "<h2>Gradients</h2>\n<p>By layer, in the steps that are logged: the norm of the gradient before "
         "clipping, and the norm of the update divided by that of the weights. All layers are in "
         "gradients.csv.</p>\n<div class=\"charts\">" +
         text + "</div>\n";
}

std::string skipped_updates(const fs::path& run) {
  const std::vector<std::vector<std::string>> rows = rows_of(run / kSkippedFile);
  if (rows.size() < 2) return "";
  return "<h2>Skipped updates</h2>\n<p>Their gradient norm was an outlier (train.skip_outliers): mean and "
         "standard deviation are those of the updates before.</p>\n" +
         html_folded(counted(std::ssize(rows) - 1, "update"), html_table(rows));
}

/// What command.txt notes of the last start of the run.
std::string notes(const std::string& commands) {
  std::string text;
  std::istringstream lines(commands);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("# "))
      text += "<p><mark>" + html_text(line.substr(2)) + "</mark></p>\n";
    else
      text.clear();
  return text;
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "";
}

/// A confusion matrix: a row for each true class, darker cells for larger shares of it.
std::string matrix(const std::vector<std::vector<double>>& counts, const std::vector<std::string>& names) {
  std::string text = "<div class=\"wide\"><table>\n<tr><th>true</th>";
  for (std::size_t column = 0; column < counts.size(); ++column)
    text += fmt::format("<th>predicted {}</th>", html_text(names[column]));
  text += "</tr>\n";
  for (std::size_t row = 0; row < counts.size(); ++row) {
    const double all = std::accumulate(counts[row].begin(), counts[row].end(), 0.0);
    text += fmt::format("<tr><td>{}</td>", html_text(names[row]));
    for (const double count : counts[row])
      text += fmt::format(R"-(<td style="background:rgba(64,128,255,{:.2f})">{}</td>)-",
                          all > 0 ? 0.7 * count / all : 0, short_number(count));
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

/// The best one of a run, else the last: "checkpoints/step-5".
std::string shown_checkpoint(const RunLog& log) {
  return fmt::format("checkpoints/step-{}", log.best_step >= 0 ? log.best_step : log.last_step);
}

/// Names of the classes, from the checkpoint that the report shows; empty if they have none.
std::vector<std::string> class_names(const fs::path& run, const RunLog& log) {
  try {
    present_checkpoint(run / shown_checkpoint(log));  // refuses links
    const auto data = read_data_description(run / shown_checkpoint(log));
    return data ? data->info.class_names : std::vector<std::string>{};
  } catch (const Error&) {
    return {};
  }
}

std::string classes(const std::vector<RunLog::Table>& tables, std::vector<std::string> names) {
  std::string text;
  for (const auto& [name, evaluation, counts] : tables) {
    if (names.size() != counts.size()) {
      names.clear();
      for (std::size_t i = 0; i < counts.size(); ++i) names.push_back(std::to_string(i));
    }
    std::vector<std::vector<std::string>> rows{{"class", "samples", "precision", "recall"}};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      double predicted = 0;
      for (const auto& row : counts) predicted += row[i];
      const double samples = std::accumulate(counts[i].begin(), counts[i].end(), 0.0);
      rows.push_back({names[i], short_number(samples), percent(counts[i][i], predicted),
                      percent(counts[i][i], samples)});
    }
    text += fmt::format("<h2>{}, {}</h2>\n", html_text(name), evaluation);
    constexpr std::size_t kMaxInView = 20;
    if (counts.size() <= kMaxInView)
      text += matrix(counts, names) + "<p></p>" + html_table(rows);
    else
      text += html_folded(fmt::format("precision and recall of {} classes", counts.size()), html_table(rows));
  }
  return text;
}

/// A cell of results.csv in few characters.
std::string short_cell(const std::string& title, const std::string& cell, const RunLog& log) {
  double value = 0;
  if (!parse_number(cell, value)) return cell;
  const bool is_fraction =
      title.ends_with("_share") || log.fractions.contains(title.substr(title.find('/') + 1));
  return is_fraction ? fraction_text(value) : short_number(value);
}

std::string epochs(const fs::path& run, const RunLog& log) {
  std::vector<std::vector<std::string>> rows = rows_of(run / "results.csv");
  if (rows.size() < 2) return "";
  for (auto& row : std::span(rows).subspan(1))
    for (std::size_t i = 0; i < std::min(row.size(), rows.front().size()); ++i)
      row[i] = short_cell(rows.front()[i], row[i], log);
  return "<h2>Epochs</h2>\n" +
         html_folded(fmt::format("{} (results.csv)", counted(std::ssize(rows) - 1, "epoch")),
                     html_table(rows));
}

std::string machine(const std::string& environment) {
  const auto json = nlohmann::ordered_json::parse(environment, nullptr, false);
  if (!json.is_object()) return "";
  std::vector<std::vector<std::string>> rows{{"", ""}};
  const auto text_of = [](const auto& value) {
    return value.is_string() ? value.template get<std::string>() : value.dump();
  };
  for (const auto& [key, value] : json.items()) {
    std::string text;
    if (value.is_array())
      for (const auto& item : value) text += (text.empty() ? "" : ", ") + text_of(item);
    else
      text = text_of(value);
    rows.push_back({key, text});
  }
  return "<h2>Machine and versions</h2>\n<div class=\"facts\">" + html_table(rows) + "</div>\n";
}

std::string block(const std::string& heading, const std::string& text) {
  return text.empty() ? "" : fmt::format("<h2>{}</h2>\n<pre>{}</pre>\n", heading, html_text(text));
}

/// What differs from the defaults, and folded the whole, in which that is marked.
std::string configuration(const fs::path& run) {
  const std::string whole = read_if_there(run / "config.yaml");
  if (whole.empty()) return "";
  try {
    const ConfigTree tree({.file = "config.yaml", .text = whole}, run_settings());
    const std::string minimal = tree.minimal_yaml();
    return block("Configuration", minimal) +
           html_folded("with every default", "<pre>" + marked_config(whole, minimal) + "</pre>");
  } catch (const Error&) {
    return block("Configuration", whole);
  }
}

}  // namespace

std::string report_html(const fs::path& run, PageUse use) {
  const RunLog log = read_run_log(run);
  const std::string name = named_folder(run).filename().string();
  const bool is_live = use == PageUse::live;
  const std::string commands = read_if_there(run / "command.txt");
  std::string body = fmt::format("<h1>{}</h1>\n<p>{}{}</p>\n{}", html_text(name),
                                 is_live ? "Under way; this page renews itself. " : "",
                                 html_text(outcome(log)), notes(commands));
  body += charts(log) + gradients(run) + skipped_updates(run);
  const std::string samples = read_if_there(run / kSamplesFile);
  body += classes(log.tables.empty() ? confusion_of(samples) : log.tables, class_names(run, log));
  body += samples_html(samples) + epochs(run, log);
  body += rank_times_html(read_if_there(run / kRankTimesFile));
  if (!is_live) body += weights_html(run, shown_checkpoint(log));
  body += block("Commands", commands) + configuration(run) + machine(read_if_there(run / "environment.json"));
  return html_page(name, body, use);
}

fs::path write_report(const fs::path& run) {
  fs::path page = run / "report.html";
  write_file(page, report_html(run));
  return page;
}

}  // namespace trainer
