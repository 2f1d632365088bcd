#include "cli/terminal/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "cli/terminal/epoch_table.h"
#include "cli/terminal/output.h"
#include "cli/terminal/run_pace.h"
#include "cli/terminal/text.h"
#include "models/checkpoints/run_directory.h"

namespace trainer {
namespace {

/// Writes at once, so that the reader of a pipe sees each line when it is complete.
void show(const std::string& text) {
  print_result(text);
  std::fflush(stdout);
}

/// The same for JSON and for control sequences.
void show_as_it_is(const std::string& bytes) {
  print_bytes(bytes);
  std::fflush(stdout);
}

/// "  step 812: update skipped, gradient norm 48.1 is 9.2 deviations above the mean 2.03"
std::string skipped_text(const StepReport& report) {
  const SkippedUpdate& skipped = *report.skipped;
  const double above = (skipped.norm - skipped.mean) / skipped.deviation;
  return fmt::format("  step {}: update skipped, gradient norm {:.3g} is {} above the mean {:.3g}",
                     grouped(report.step), skipped.norm,
                     skipped.deviation > 0 ? fmt::format("{:.3g} deviations", above) : "an outlier",
                     skipped.mean);
}

/// "staleness 1.2/4": the mean and the largest one.
std::string staleness_text(const Staleness& staleness) {
  return fmt::format("staleness {:.1f}/{}", staleness.mean, staleness.max);
}

/// The table: a line for each epoch, and what a derived class shows of the epoch under way.
class TableProgress : public Observer {
 public:
  void on_start(const RunFacts& facts) override {
    facts_ = facts;
    table_.emplace(facts);
    if (has_heading_) show("\n" + table_->heading() + "\n");
    pace_.start(facts, Clock::now());
    shown_ = Clock::now();
    start_epoch();
  }
  void on_step(const StepReport& report) override {
    if (report.skipped) show(skipped_text(report) + "\n");
    const auto samples = static_cast<double>(report.scores.samples);
    so_far_.samples += report.scores.samples;
    so_far_.loss += samples * report.scores.loss;
    for (std::size_t i = 0; i < so_far_.metrics.size(); ++i)
      so_far_.metrics[i] += samples * report.scores.metrics[i];
    const auto now = Clock::now();
    pace_.note_step(report.step, now);
    const bool ends = report.step % facts_.steps_per_epoch == 0 || report.step == facts_.total_steps;
    if (now - shown_ < pause_ || (ends && !shows_ends_)) return;
    shown_ = now;
    Scores means = so_far_;
    means.loss /= static_cast<double>(so_far_.samples);
    for (double& value : means.metrics) value /= static_cast<double>(so_far_.samples);
    show_epoch(report, means, pace_.seconds_left());
  }
  void on_epoch(const EpochReport& report) override {
    show(table_->row(report) + "\n");
    pace_.note_epoch(Clock::now());
    shown_ = Clock::now();
    start_epoch();
  }

 protected:
  /// `shows_ends`: also after the last step of an epoch, whose row follows.
  TableProgress(bool has_heading, std::chrono::milliseconds pause, bool shows_ends)
      : has_heading_(has_heading), pause_(pause), shows_ends_(shows_ends) {}

  virtual void show_epoch(const StepReport& report, const Scores& so_far, double seconds_left) = 0;
  const RunFacts& facts() const { return facts_; }

 private:
  using Clock = std::chrono::steady_clock;

  void start_epoch() { so_far_ = Scores{.metrics = std::vector<double>(facts_.metrics.size(), 0.0)}; }

  bool has_heading_;
  std::chrono::milliseconds pause_;
  bool shows_ends_;
  RunFacts facts_;
  std::optional<EpochTable> table_;
  RunPace pace_;
  Clock::time_point shown_{};
  Scores so_far_;
};

/// Below the table a line now and then, so that a log shows that a long epoch goes ahead.
class PlainProgress final : public TableProgress {
 public:
  PlainProgress(bool has_heading, std::chrono::milliseconds pause)
      : TableProgress(has_heading, pause, false) {}

 private:
  void show_epoch(const StepReport& report, const Scores& so_far, double seconds_left) override {
    show(bar_line(facts(), report, so_far, seconds_left, {}) + "\n");
  }
};

/// Below the table a bar for the epoch under way.
class BarProgress final : public TableProgress {
 public:
  BarProgress(const TerminalFacts& terminal, bool has_heading)
      : TableProgress(has_heading, std::chrono::milliseconds(100), true), terminal_(terminal) {}
  ~BarProgress() override { print_status(""); }

 private:
  void show_epoch(const StepReport& report, const Scores& so_far, double seconds_left) override {
    if (const int columns = window_columns(); columns > 0) terminal_.columns = columns;
    print_status(bar_line(facts(), report, so_far, seconds_left, terminal_));
  }

  TerminalFacts terminal_;
};

/// One JSON object, for the end.
class JsonResult : public Observer {
 public:
  explicit JsonResult(std::string run) : run_(json_text(run)) {}

  void on_end(const RunResult& result) override {
    std::string by_kind;
    for (std::size_t i = 0; i < kMemoryKinds.size(); ++i)
      if (result.memory_of_rank[i] > 0)
        by_kind += fmt::format(R"({}"{}":{})", by_kind.empty() ? "" : ",", kMemoryKinds[i],
                               result.memory_of_rank[i]);
    show_as_it_is(fmt::format(
        R"({{"event":"end","run":{},"steps":{},"best_epoch":{},"time":{:.3f},"comm_share":{:.4f},"wait_share":{:.4f},"data_share":{:.4f},"memory":{},"memory_of_rank":{{{}}},"reason":{}}})"
        "\n",
        run_, result.steps, result.best_epoch, result.time, result.comm_share, result.wait_share,
        result.data_share, result.memory, by_kind, json_text(result.reason)));
  }

 protected:
  std::string run_;
};

/// One JSON object for each line: those of metrics.jsonl between one for the start and one for the end.
class JsonProgress final : public JsonResult {
 public:
  using JsonResult::JsonResult;

  void on_start(const RunFacts& facts) override {
    facts_ = facts;
    show_as_it_is(fmt::format(
        R"({{"event":"start","run":{},"steps_per_epoch":{},"total_steps":{},"epochs":{},"batch":{}}})"
        "\n",
        run_, facts.steps_per_epoch, facts.total_steps, facts.epochs, facts.batch));
  }
  void on_step(const StepReport& report) override {
    if (report.skipped)
      show_as_it_is(fmt::format(
          R"({{"event":"skipped","step":{},"epoch":{},"gradient_norm":{:.6g},"mean":{:.6g},"deviation":{:.6g}}})"
          "\n",
          report.step, report.epoch, report.skipped->norm, report.skipped->mean, report.skipped->deviation));
    if (report.logged) show_as_it_is(metrics_line(facts_, report, "train", report.scores) + "\n");
  }
  void on_evaluation(const StepReport& after, const std::string& split, const Scores& scores) override {
    show_as_it_is(metrics_line(facts_, after, split, scores) + "\n");
  }

 private:
  RunFacts facts_;
};

class NoProgress final : public Observer {};

}  // namespace

TerminalFacts standard_output() {
  TerminalFacts facts{.columns = window_columns(), .utf8 = shows_utf8()};
  const char* terminal = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  facts.moves = facts.columns > 0 && terminal && std::string_view(terminal) != "dumb";
  facts.colour = facts.moves && !(no_colour && *no_colour);
  return facts;
}

std::unique_ptr<Observer> make_quiet_progress(ProgressMode mode, const std::string& run) {
  if (mode == ProgressMode::json) return std::make_unique<JsonResult>(run);
  return std::make_unique<NoProgress>();
}

std::unique_ptr<Observer> make_progress(ProgressMode mode, const TerminalFacts& terminal,
                                        const std::string& run, bool has_heading,
                                        std::chrono::milliseconds pause) {
  switch (mode) {
    case ProgressMode::automatic:
    case ProgressMode::bar:
      // Without cursor control a bar would fill a log with thousands of lines.
      if (terminal.moves) return std::make_unique<BarProgress>(terminal, has_heading);
      return std::make_unique<PlainProgress>(has_heading, pause);
    case ProgressMode::plain:
      return std::make_unique<PlainProgress>(has_heading, pause);
    case ProgressMode::json:
      return std::make_unique<JsonProgress>(run);
    case ProgressMode::none:
      break;
  }
  return std::make_unique<NoProgress>();
}

std::string bar_line(const RunFacts& facts, const StepReport& report, const Scores& epoch_so_far,
                     double seconds_left, const TerminalFacts& terminal) {
  const std::int64_t epoch_begin = facts.steps_per_epoch * (report.epoch - 1);
  const std::int64_t steps = std::min(facts.steps_per_epoch, facts.total_steps - epoch_begin);
  const std::int64_t done = report.step - epoch_begin;
  const std::string before = EpochTable(facts).epoch_cell(report.epoch) + " ";
  std::string after = fmt::format("  {}/{}  loss {}", done, steps, loss_text(epoch_so_far.loss));
  for (std::size_t i = 0; i < facts.metrics.size(); ++i)
    if (!facts.metrics[i].has_program)
      after += fmt::format("  {} {}", facts.metrics[i].short_name,
                           metric_text(facts.metrics[i], epoch_so_far.metrics[i]));
  if (report.staleness) after += "  " + staleness_text(*report.staleness);
  after += fmt::format("  {}/s  {} left", grouped(std::llround(report.examples_per_second)),
                       clock_text(seconds_left));
  if (report.slow_rank >= 0)
    after +=
        fmt::format("  waits {:.0f}%, {}", 100 * report.wait_share, slow_rank_text(facts, report.slow_rank));
  if (terminal.columns == 0) return before + after;

  constexpr std::int64_t kWidest = 60, kNarrowest = 6;
  const std::int64_t room = terminal.columns - 1 - std::ssize(before) - std::ssize(after);
  if (room < kNarrowest)
    return (before + after).substr(0, static_cast<std::size_t>(std::max(terminal.columns - 1, 0)));
  const std::int64_t cells = std::min(room, kWidest), filled = cells * done / steps;
  const char* const full = terminal.utf8 ? "━" : "=";
  const char* const tip = terminal.utf8 ? "╸" : ">";
  const char* const rest = !terminal.utf8 ? "-" : terminal.colour ? "━" : "─";
  std::string bar = terminal.colour ? "\x1b[32m" : "";
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    bar += cell == filled ? tip : cell < filled ? full : rest;
    if (cell == filled && terminal.colour) bar += "\x1b[2;39m";
  }
  return before + bar + (terminal.colour ? "\x1b[0m" : "") + after;
}

std::string ending_text(const RunFacts& facts, const RunResult& result) {
  if (result.reason.empty()) return "";
  return fmt::format("ended early, after step {} of {}: {}", grouped(result.steps),
                     grouped(facts.total_steps), result.reason);
}

std::string result_line(const RunFacts& facts, const RunResult& result) {
  if (!result.reason.empty()) {
    RunResult rest = result;
    rest.reason.clear();
    return ending_text(facts, result) + "\n" + result_line(facts, rest);
  }
  std::string total = "total " + seconds_text(result.time);
  if (facts.ranks > 1)
    total += fmt::format(", {:.0f}% of it communication, {:.0f}% waiting for other ranks",
                         100 * result.comm_share, 100 * result.wait_share);
  if (result.slow_rank >= 0) total += ", " + slow_rank_text(facts, result.slow_rank);
  constexpr double kNegligible = 0.05;
  if (result.data_share > kNegligible)
    total += fmt::format(", {:.0f}% waiting for data", 100 * result.data_share);
  if (result.memory > 0) total += ", " + bytes_text(result.memory) + " of memory";
  if (!result.best) return fmt::format("done  {}      {}", counted(result.steps, "step"), total);
  const std::string score = facts.metrics.empty()
                                ? "loss " + loss_text(result.best->loss)
                                : facts.metrics.front().name + " " +
                                      metric_text(facts.metrics.front(), result.best->metrics.front(), 2);
  const std::string when = result.best_epoch == 0 ? "done  " + counted(result.steps, "step")
                                                  : fmt::format("best  epoch {}", result.best_epoch);
  return fmt::format("{}: {} {}      {}", when, facts.evaluation_split, score, total);
}

std::string nodes_note(const RunFacts& facts, const RunResult& result) {
  const double time_of_one = (1 - result.comm_share - result.wait_share) * facts.nodes;
  if (facts.nodes == 1 || time_of_one >= 1) return "";
  return fmt::format(
      "{} nodes are slower than one: communication is {:.0f}% of the time, and one node takes about {:.0f}% "
      "of "
      "it; use fewer nodes or a larger batch",
      facts.nodes, 100 * result.comm_share, 100 * time_of_one);
}

}  // namespace trainer
