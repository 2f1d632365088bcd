#include "models/training/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::string system_words(int error) { return std::generic_category().message(error); }

[[noreturn]] void cannot_create(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::usage, fmt::format("cannot create the run directory {}: {}", path.string(), why),
              "--out DIR puts it elsewhere");
}

void create_parents(const fs::path& path) {
  std::error_code error;
  if (!path.parent_path().empty()) fs::create_directories(path.parent_path(), error);
  if (error) cannot_create(path, error.message());
}

/// True when this call created it; false when something has that name already.
bool made_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) cannot_create(path, system_words(errno));
  return false;
}

fs::path create_exactly(const fs::path& path, bool& created) {
  create_parents(path);
  created = made_directory(path);
  if (created) return path;
  std::error_code error;
  const bool is_empty = fs::is_directory(path, error) && fs::is_empty(path, error);
  if (error) cannot_create(path, error.message());
  if (!is_empty)
    cannot_create(path, fs::is_directory(path) ? "it exists and is not empty" : "a file has that name");
  return path;
}

fs::path create_numbered(const std::string& name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    throw Error(ExitCode::usage, fmt::format("`{}` cannot name a run", name),
                "a word without slashes; --out takes a path");
  constexpr int kMost = 1'000'000;
  const fs::path first = fs::path("runs") / name;
  create_parents(first);
  if (made_directory(first)) return first;
  for (int number = 2; number < kMost; ++number) {
    const fs::path path = fmt::format("{}-{}", first.string(), number);
    if (made_directory(path)) return path;
  }
  cannot_create(first, "there are too many of that name");
}

std::string number_text(double number) { return fmt::format("{:.9g}", number); }

}  // namespace

LineFile::LineFile(fs::path path)
    : path_(std::move(path)),
      descriptor_(
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_.number() < 0) fail(errno);
}

void LineFile::append(const std::string& line) {
  const std::string text = line + '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(descriptor_.number(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      // Half a line would break every reader; when even this fails, the message below says why all the same.
      [[maybe_unused]] const int ignored = ::ftruncate(descriptor_.number(), size_);
      fail(error);
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  size_ += std::ssize(text);
}

void LineFile::fail(int error) const {
  throw Error(ExitCode::failure, fmt::format("cannot write {}: {}", path_.string(), system_words(error)));
}

RunDirectory::RunDirectory(const Options& options, const Description& description) {
  bool created = true;
  path_ = options.out.empty() ? create_numbered(options.name) : create_exactly(options.out, created);
  try {
    if (::access(path_.c_str(), W_OK | X_OK) != 0) cannot_create(path_, system_words(errno));
    write_file(path_ / "config.yaml", description.config);
    write_file(path_ / "command.txt", description.command + "\n");
    write_file(path_ / "environment.json", description.environment + "\n");
  } catch (...) {
    std::error_code ignored;
    for (const char* name : {"config.yaml", "command.txt", "environment.json"})
      fs::remove(path_ / name, ignored);
    if (created) fs::remove(path_, ignored);
    throw;
  }
}

void RunDirectory::on_start(const RunFacts& facts) {
  facts_ = facts;
  results_ = std::make_unique<LineFile>(path_ / "results.csv");
  metrics_ = std::make_unique<LineFile>(path_ / "metrics.jsonl");
  std::string heading = "epoch,time";
  const auto add_columns = [&](const std::string& split) {
    heading += fmt::format(",{}/loss", split);
    for (const MetricFacts& metric : facts.metrics) heading += fmt::format(",{}/{}", split, metric.name);
  };
  add_columns("train");
  if (!facts.evaluation_split.empty()) add_columns(facts.evaluation_split);
  results_->append(heading + ",lr,examples_per_second,comm_share,data_share");
}

void RunDirectory::on_step(const StepReport& report) {
  if (report.logged) metrics_->append(metrics_line(facts_, report, "train", report.scores));
}

void RunDirectory::on_evaluation(const StepReport& after, const std::string& split, const Scores& scores) {
  metrics_->append(metrics_line(facts_, after, split, scores));
}

void RunDirectory::on_epoch(const EpochReport& report) {
  std::string row = fmt::format("{},{:.3f}", report.epoch, report.time);
  const auto add_scores = [&](const Scores& scores) {
    row += "," + number_text(scores.loss);
    for (const double value : scores.metrics) row += "," + number_text(value);
  };
  add_scores(report.train);
  if (report.evaluation)
    add_scores(*report.evaluation);
  else if (!facts_.evaluation_split.empty())
    row += std::string(1 + facts_.metrics.size(), ',');
  results_->append(row + fmt::format(",{},{:.1f},{:.4f},{:.4f}", number_text(report.rate),
                                     report.examples_per_second, report.comm_share, report.data_share));
}

std::string metrics_line(const RunFacts& facts, const StepReport& report, const std::string& split,
                         const Scores& scores) {
  std::string line = fmt::format(R"({{"step":{},"epoch":{},"split":"{}","loss":{})", report.step,
                                 report.epoch, split, json_number(scores.loss));
  for (std::size_t i = 0; i < facts.metrics.size(); ++i)
    line += fmt::format(R"(,"{}":{})", facts.metrics[i].name, json_number(scores.metrics[i]));
  return line +
         fmt::format(R"(,"lr":{},"examples_per_second":{},"comm_share":{},"data_share":{},"time":{}}})",
                     json_number(report.rate), json_number(std::round(report.examples_per_second)),
                     json_number(std::round(report.comm_share * 1e4) / 1e4),
                     json_number(std::round(report.data_share * 1e4) / 1e4),
                     json_number(std::round(report.time * 1e3) / 1e3));
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_number(double number) { return std::isfinite(number) ? number_text(number) : "null"; }

}  // namespace trainer
