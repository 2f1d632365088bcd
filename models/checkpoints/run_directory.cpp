#include "models/checkpoints/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>

#include "engine/core/escape.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";

std::string system_message(int error) { return std::generic_category().message(error); }

[[noreturn]] void cannot_create(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::usage, fmt::format("cannot create the run directory {}: {}", path.string(), why),
              "--out DIR puts it elsewhere");
}

/// Makes the parent directories of a run that are missing, and removes them unless keep() is called.
class ParentDirectories {
 public:
  void make(const fs::path& run) {
    std::error_code error;
    for (fs::path path = run.parent_path(); !path.empty() && !fs::exists(path, error);
         path = path.parent_path())
      missing_.push_back(path);
    if (!missing_.empty()) fs::create_directories(missing_.front(), error);
    if (error) cannot_create(run, error.message());
  }
  void keep() { missing_.clear(); }
  ~ParentDirectories() {
    std::error_code ignored;
    for (const fs::path& path : missing_) fs::remove(path, ignored);
  }

 private:
  std::vector<fs::path> missing_;  ///< innermost first
};

/// True when this call created it; false when something has that name already.
bool made_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) cannot_create(path, system_message(errno));
  return false;
}

bool is_partial(const fs::directory_entry& entry) { return entry.path().extension() == ".partial"; }

/// True if a directory is empty, or has only the files of a process that was killed before it wrote
/// config.yaml.
bool is_unused(const fs::path& path) {
  bool is_empty = true, locked = false, begun = false;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    is_empty = false;
    locked |= name == kLock;
    begun |= name != kLock && name != "command.txt" && name != "environment.json" && !is_partial(*it);
  }
  if (error) cannot_create(path, error.message());
  return is_empty || (locked && !begun);
}

/// Removes the partial files of killed processes. The caller holds the lock.
void remove_leftovers(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
    if (is_partial(*it)) leftovers.push_back(it->path());
  for (const fs::path& leftover : leftovers) fs::remove(leftover, error);
}

void check_unused(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) cannot_create(path, "a file has that name");
  if (!is_unused(path)) cannot_create(path, "it exists and is not empty");
}

fs::path create_exactly(const fs::path& path, ParentDirectories& parents, bool& created) {
  parents.make(path);
  created = made_directory(path);
  if (!created) check_unused(path);
  return path;
}

fs::path create_numbered(const std::string& name, ParentDirectories& parents) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    throw Error(ExitCode::usage, fmt::format("`{}` cannot name a run", name),
                "a word without slashes; --out takes a path");
  constexpr int kMax = 1'000'000;
  const fs::path first = fs::path("runs") / name;
  parents.make(first);
  if (made_directory(first)) return first;
  for (int number = 2; number < kMax; ++number) {
    const fs::path path = fmt::format("{}-{}", first.string(), number);
    if (made_directory(path)) return path;
  }
  cannot_create(first, "there are too many of that name");
}

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40;

/// True if a line of metrics.jsonl is not of a time after `state`.
bool metrics_stay(std::string_view line, const CheckpointState& state) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) return false;
  const auto step = json["step"].get<std::int64_t>();
  const bool trained = json.contains("split") && json["split"] == "train";
  return step < state.step || (step == state.step && (trained || state.evaluated));
}

/// The same for a row of results.csv.
bool results_stay(std::string_view row, const CheckpointState& state) {
  if (row.starts_with("epoch,")) return true;
  std::int64_t epoch = 0;
  const auto [end, problem] = std::from_chars(row.data(), row.data() + row.size(), epoch);
  if (problem != std::errc()) return false;
  const std::int64_t done = state.step / state.steps_per_epoch;
  const bool at_end = state.step % state.steps_per_epoch == 0;
  return epoch < done || (epoch == done && !(at_end && !state.evaluated));
}

/// The same for a row that begins with a step.
bool step_stays(std::string_view row, const CheckpointState& state) {
  if (row.starts_with("step,")) return true;
  std::int64_t step = 0;
  const auto [end, problem] = std::from_chars(row.data(), row.data() + row.size(), step);
  return problem == std::errc() && step <= state.step;
}

/// Without the sign of a NaN.
std::string number_text(double number) { return std::isnan(number) ? "nan" : fmt::format("{:.9g}", number); }

/// null for a number that is not finite.
std::string json_number(double number) { return std::isfinite(number) ? number_text(number) : "null"; }

/// [[1,2],[3,4]]
std::string json_table(const std::vector<double>& table) {
  const auto columns = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(table.size()))));
  std::string text = "[";
  for (std::size_t i = 0; i < table.size(); ++i)
    text += (i % columns > 0 ? "," : i > 0 ? "],[" : "[") + number_text(table[i]);
  return text + "]]";
}

void add_command(const fs::path& run, const std::string& line) {
  LineFile(run / "command.txt", [](std::string_view) { return true; }).append(line);
}

}  // namespace

LineFile::LineFile(fs::path path)
    : path_(std::move(path)),
      descriptor_(
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_.number() < 0) fail(errno);
}

LineFile::LineFile(fs::path path, const std::function<bool(std::string_view)>& stays)
    : path_(std::move(path)),
      // Without O_NONBLOCK, opening a named pipe would wait for a reader.
      descriptor_(
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666)) {
  if (descriptor_.number() < 0) fail(errno);
  const std::string text = read_file(path_, ExitCode::failure, kLargestFile);
  std::string_view rest = text;
  rest = rest.substr(0, rest.rfind('\n') + 1);
  while (!rest.empty()) {
    const std::string_view whole = rest.substr(0, rest.size() - 1);
    const std::size_t begin = whole.rfind('\n') + 1;  // npos + 1 is 0
    if (stays(whole.substr(begin))) break;
    rest = rest.substr(0, begin);
  }
  size_ = std::ssize(rest);
  struct stat status {};
  if (::fstat(descriptor_.number(), &status) != 0) fail(errno);
  if (status.st_nlink == 1) {
    if (::ftruncate(descriptor_.number(), size_) != 0) fail(errno);
    return;
  }
  // A copy made of hard links shares the file with another run: replace it by a file of its own.
  write_file(path_, rest);
  descriptor_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_NOFOLLOW | O_APPEND | O_CLOEXEC));
  if (descriptor_.number() < 0) fail(errno);
}

void LineFile::append(const std::string& line) {
  check_name();
  const std::string text = line + '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(descriptor_.number(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      // Removes half a line, which readers cannot parse.
      [[maybe_unused]] const int ignored = ::ftruncate(descriptor_.number(), size_);
      fail(error);
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  size_ += std::ssize(text);
}

void LineFile::flush() const {
  if (::fdatasync(descriptor_.number()) != 0) fail(errno);
  check_name();
}

void LineFile::check_name() const {
  struct stat status {};
  if (::fstat(descriptor_.number(), &status) != 0) fail(errno);
  // Lines in a file without a name would be lost.
  if (status.st_nlink == 0)
    throw Error(ExitCode::failure, fmt::format("{} was removed during the run", path_.string()));
}

void LineFile::fail(int error) const {
  throw Error(ExitCode::failure, fmt::format("cannot write {}: {}", path_.string(), system_message(error)));
}

RunDirectory::RunDirectory(const Options& options, const Description& description) : lock_(-1) {
  bool created = true, mine = false;
  ParentDirectories parents;
  path_ = options.out.empty() ? create_numbered(options.name, parents)
                              : create_exactly(options.out, parents, created);
  try {
    if (::access(path_.c_str(), W_OK | X_OK) != 0) cannot_create(path_, system_message(errno));
    lock(std::chrono::seconds(0));
    check_unused(path_);  // another process may have begun, and ended, since the first look
    mine = true;
    remove_leftovers(path_);
    write_file(path_ / "command.txt", description.command + "\n");
    write_file(path_ / "environment.json", description.environment + "\n");
    // Last: a directory with a config can be resumed.
    write_file(path_ / "config.yaml", description.config);
    parents.keep();
  } catch (...) {
    std::error_code ignored;
    if (mine)
      for (const char* name : {"config.yaml", "command.txt", "environment.json", kLock})
        fs::remove(path_ / name, ignored);
    if (created) fs::remove(path_, ignored);
    throw;
  }
}

RunDirectory::RunDirectory(const fs::path& path, std::chrono::seconds patience) : path_(path), lock_(-1) {
  std::error_code ignored;
  if (!fs::exists(path_ / "config.yaml", ignored))
    throw Error(ExitCode::usage,
                fmt::format("{} is not a run directory: it has no config.yaml", path.string()),
                "trainer CONFIG.yaml starts a run");
  lock(patience);
}

void RunDirectory::lock(std::chrono::seconds patience) {
  const fs::path path = path_ / kLock;
  int number = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  const int refusal = errno;
  // A finished run can be read on a read-only disk.
  if (number < 0) number = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  lock_ = Descriptor(number);
  if (number < 0)
    throw Error(ExitCode::usage, fmt::format("cannot write {}: {}", path.string(), system_message(refusal)));
  // A file system without locks reports another error: the directory counts as free.
  const auto is_taken = [&] { return ::flock(number, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; };
  const auto end = std::chrono::steady_clock::now() + patience;
  bool taken = is_taken();
  for (; taken && std::chrono::steady_clock::now() < end; taken = is_taken())
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (taken)
    throw Error(ExitCode::usage, fmt::format("{} is in use: another process trains in it", path_.string()),
                "wait until it ends, or stop it");
}

std::string RunDirectory::config() const {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 28;
  return read_file(path_ / "config.yaml", ExitCode::usage, kMax);
}

void RunDirectory::resume(const Description& description, const CheckpointState& state) {
  from_ = state;
  remove_leftovers(path_);
  add_command(path_, description.command);
  write_file(path_ / fmt::format("environment-{}.json", state.step), description.environment + "\n");
  write_file(path_ / "config.yaml", description.config);
}

void RunDirectory::add_note(const std::string& what) { add_command(path_, "# " + what); }

void RunDirectory::on_start(const RunFacts& facts) {
  facts_ = facts;
  const fs::path results = path_ / "results.csv", metrics = path_ / "metrics.jsonl";
  if (from_) {
    results_ =
        std::make_unique<LineFile>(results, [&](std::string_view row) { return results_stay(row, *from_); });
    metrics_ = std::make_unique<LineFile>(metrics,
                                          [&](std::string_view line) { return metrics_stay(line, *from_); });
  } else {
    results_ = std::make_unique<LineFile>(results);
    metrics_ = std::make_unique<LineFile>(metrics);
  }
  begin_gradients();
  if (facts_.has_chain) begin_chain();
  std::error_code ignored;
  if (const fs::path skipped = path_ / kSkippedFile; from_ && fs::exists(skipped, ignored))
    skipped_ =
        std::make_unique<LineFile>(skipped, [&](std::string_view row) { return step_stays(row, *from_); });
  if (!results_->empty()) return;
  std::string heading = "epoch,time";
  const auto add_columns = [&](const std::string& split) {
    heading += fmt::format(",{}/loss", split);
    for (const MetricFacts& metric : facts.metrics) heading += fmt::format(",{}/{}", split, metric.name);
  };
  add_columns("train");
  if (!facts.evaluation_split.empty()) add_columns(facts.evaluation_split);
  results_->append(heading + ",lr,examples_per_second,comm_share,wait_share,data_share");
}

void RunDirectory::begin_gradients() {
  const fs::path path = path_ / "gradients.csv";
  const bool is_logged = !facts_.logged_layers.empty();
  std::error_code ignored;
  if (from_ && (is_logged || fs::exists(path, ignored)))
    gradients_ =
        std::make_unique<LineFile>(path, [&](std::string_view row) { return step_stays(row, *from_); });
  else if (is_logged)
    gradients_ = std::make_unique<LineFile>(path);
  if (!is_logged) gradients_.reset();
  if (!gradients_ || !gradients_->empty()) return;
  std::string heading = "step";
  for (const std::string& layer : facts_.logged_layers)
    for (const char* figure : {"gradient", "update_ratio"})
      heading += "," + csv_field(escaped(layer + "/" + figure));
  gradients_->append(heading);
}

void RunDirectory::add_skipped(const StepReport& report) {
  if (!skipped_) skipped_ = std::make_unique<LineFile>(path_ / kSkippedFile);
  if (skipped_->empty()) skipped_->append("step,epoch,gradient_norm,mean,deviation");
  skipped_->append(fmt::format("{},{},{},{},{}", report.step, report.epoch, number_text(report.skipped->norm),
                               number_text(report.skipped->mean), number_text(report.skipped->deviation)));
}

void RunDirectory::on_step(const StepReport& report) {
  if (report.skipped) add_skipped(report);
  if (report.logged) metrics_->append(metrics_line(facts_, report, "train", report.scores));
  if (!gradients_ || report.layers.empty()) return;
  std::string row = std::to_string(report.step);
  for (const LayerNorms& layer : report.layers)
    row += fmt::format(",{},{}", number_text(layer.gradient),
                       layer.parameters > 0 ? number_text(layer.change / layer.parameters) : "");
  gradients_->append(row);
}

void RunDirectory::on_evaluation(const StepReport& after, const std::string& split, const Scores& scores) {
  metrics_->append(metrics_line(facts_, after, split, scores));
}

void RunDirectory::begin_chain() {
  const fs::path path = path_ / "chain.jsonl";
  if (!from_) {
    chain_ = std::make_unique<LineFile>(path);
    return;
  }
  const std::string last = fmt::format(R"("chain":"{}")", from_->chain);
  const auto is_last = [&](std::string_view line) { return line.find(last) != std::string_view::npos; };
  std::error_code ignored;
  if (!from_->chain.empty() &&
      (!fs::exists(path, ignored) || !is_last(read_file(path, ExitCode::weights, kLargestFile))))
    throw Error(
        ExitCode::weights,
        {Diagnostic{.what = fmt::format("{} does not hold the chain value of the checkpoint", path.string()),
                    .notes = {fmt::format("step {}: {}", from_->step, from_->chain)},
                    .help = "the file of the run that made the checkpoint"}});
  chain_ = std::make_unique<LineFile>(
      path, [&](std::string_view line) { return !from_->chain.empty() && is_last(line); });
}

void RunDirectory::on_chain(const std::string& lines) { chain_->append(lines); }

void RunDirectory::on_save() {
  if (chain_) chain_->flush();
  results_->flush();
  metrics_->flush();
  if (gradients_) gradients_->flush();
  if (skipped_) skipped_->flush();
}

void RunDirectory::on_epoch(const EpochReport& report) {
  std::string row = fmt::format("{},{:.3f}", report.epoch, report.time);
  const auto add_scores = [&](const Scores& scores) {
    row += fmt::format(",{}", number_text(scores.loss));
    for (std::size_t i = 0; i < scores.metrics.size(); ++i) {
      const bool is_absent = facts_.metrics[i].has_program && &scores == &report.train;
      row += "," + (is_absent ? "" : number_text(scores.metrics[i]));
    }
  };
  add_scores(report.train);
  if (report.evaluation)
    add_scores(*report.evaluation);
  else if (!facts_.evaluation_split.empty())
    row += std::string(1 + facts_.metrics.size(), ',');
  results_->append(row + fmt::format(",{},{:.1f},{:.4f},{:.4f},{:.4f}", number_text(report.rate),
                                     report.examples_per_second, report.comm_share, report.wait_share,
                                     report.data_share));
}

std::string metrics_line(const RunFacts& facts, const StepReport& report, const std::string& split,
                         const Scores& scores) {
  std::string line = fmt::format(R"({{"step":{},"epoch":{},"split":"{}","loss":{})", report.step,
                                 report.epoch, split, json_number(scores.loss));
  for (std::size_t i = 0; i < facts.metrics.size(); ++i)
    line += fmt::format(R"(,"{}":{})", facts.metrics[i].name, json_number(scores.metrics[i]));
  for (std::size_t i = 0; i < scores.tables.size(); ++i)
    if (!scores.tables[i].empty())
      line += fmt::format(R"(,"{}":{})", facts.metrics[i].table_name, json_table(scores.tables[i]));
  if (split == "train" && report.compression_error)
    line += fmt::format(R"(,"compression_error":{})", json_number(*report.compression_error));
  if (report.staleness)
    line += fmt::format(R"(,"staleness":{},"staleness_max":{})", json_number(report.staleness->mean),
                        report.staleness->max);
  return line +
         fmt::format(
             R"(,"lr":{},"examples_per_second":{},"comm_share":{},"wait_share":{},{}"data_share":{},"time":{}}})",
             json_number(report.rate), json_number(std::round(report.examples_per_second)),
             json_number(std::round(report.comm_share * 1e4) / 1e4),
             json_number(std::round(report.wait_share * 1e4) / 1e4),
             report.slow_rank >= 0 ? fmt::format(R"("slow_rank":{},)", report.slow_rank) : "",
             json_number(std::round(report.data_share * 1e4) / 1e4),
             json_number(std::round(report.time * 1e3) / 1e3));
}

std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace trainer
