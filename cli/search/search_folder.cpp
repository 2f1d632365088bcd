#include "cli/search/search_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

namespace trainer {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char *kPlan = "plan.json", *kResults = "results.jsonl", *kLock = "lock";
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;

[[noreturn]] void cannot_create(const fs::path& path, const std::string& why) {
  throw Error(ExitCode::usage, fmt::format("cannot create the directory {}: {}", path.string(), why),
              "--out DIR puts it elsewhere");
}

/// The directories that `path` lacks, deepest first.
std::vector<fs::path> missing_directories(fs::path path) {
  std::vector<fs::path> missing;
  std::error_code ignored;
  for (; !path.empty() && !fs::exists(fs::symlink_status(path, ignored)); path = path.parent_path())
    missing.push_back(path);
  return missing;
}

/// Adds what it creates to `created`, deepest first.
fs::path create_directory_of(const std::string& out, const std::string& folder, const std::string& name,
                             std::vector<fs::path>& created) {
  std::error_code error;
  if (!out.empty()) {
    created = missing_directories(out);
    fs::create_directories(out, error);
    if (error) cannot_create(out, error.message());
    if (!fs::is_empty(out, error)) cannot_create(out, "it exists and is not empty");
    return out;
  }
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
    throw Error(ExitCode::usage, fmt::format("`{}` cannot name a search", name),
                "a word without slashes; --out takes a path");
  const fs::path first = fs::path(folder) / name;
  created = missing_directories(folder);
  fs::create_directories(folder, error);
  if (error) cannot_create(first, error.message());
  fs::path path = first;
  for (int number = 2; !fs::create_directory(path, error); ++number) {
    if (error) cannot_create(path, error.message());
    path = fmt::format("{}-{}", first.string(), number);
  }
  created.insert(created.begin(), path);
  return path;
}

Json json_of(const SearchPlan& plan) {
  Json trials = Json::array();
  for (const Trial& trial : plan.trials)
    trials.push_back({{"values", trial.values}, {"settings", trial.settings}});
  return {{"kind", plan.kind},       {"method", plan.method},     {"seed", plan.seed},
          {"configs", plan.configs}, {"settings", plan.settings}, {"spaces", plan.spaces},
          {"keys", plan.keys},       {"trials", trials}};
}

SearchPlan plan_of(const Json& json) {
  SearchPlan plan{.kind = json.at("kind"),
                  .method = json.at("method"),
                  .seed = json.at("seed"),
                  .configs = json.at("configs"),
                  .settings = json.at("settings"),
                  .spaces = json.at("spaces"),
                  .keys = json.at("keys")};
  for (const Json& trial : json.at("trials")) {
    plan.trials.push_back({.number = static_cast<int>(plan.trials.size()) + 1,
                           .values = trial.at("values"),
                           .settings = trial.at("settings")});
    if (plan.trials.back().values.size() != plan.keys.size()) throw std::invalid_argument("values");
  }
  if (plan.trials.empty() || plan.configs.empty()) throw std::invalid_argument("trials");
  if (plan.spaces.size() != plan.keys.size()) throw std::invalid_argument("spaces");
  return plan;
}

/// True if the same trial would end in this way again.
bool is_final(const Outcome& outcome) {
  const auto code = static_cast<ExitCode>(outcome.code);
  return code != ExitCode::failure && code != ExitCode::lost &&
         (outcome.code < 128 || code == ExitCode::interrupted);
}

std::string number_text(const Trial& trial) { return fmt::format("{:03}", trial.number); }

}  // namespace

SearchFolder::SearchFolder(const std::string& out, const std::string& folder, const std::string& name,
                           const SearchPlan& plan, const std::vector<std::string>& configs)
    : plan_(plan) {
  std::vector<fs::path> created;
  bool is_mine = false;
  try {
    path_ = create_directory_of(out, folder, name, created);
    lock();
    // Another process may have begun since the first look.
    if (is_one(path_)) cannot_create(path_, "it exists and is not empty");
    is_mine = true;
    write_plan(configs);
    open_results();
  } catch (...) {
    std::error_code ignored;
    // Files of another process stay.
    if (is_mine)
      for (const char* part : {kPlan, kResults, "configs", "trials", "logs", kLock})
        fs::remove_all(path_ / part, ignored);
    for (const fs::path& directory : created) ::rmdir(directory.c_str());
    throw;
  }
}

void SearchFolder::write_plan(const std::vector<std::string>& configs) const {
  for (const char* part : {"configs", "trials", "logs"}) {
    std::error_code error;
    fs::create_directory(path_ / part, error);
    if (error) cannot_create(path_ / part, error.message());
  }
  for (const Trial& trial : plan_.trials)
    write_file(config_of(trial), configs.at(static_cast<std::size_t>(trial.number) - 1));
  // Last: a directory with a plan can be resumed.
  write_file(path_ / kPlan, json_of(plan_).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

SearchFolder::SearchFolder(const fs::path& path) : path_(path) {
  try {
    plan_ = plan_of(Json::parse(read_file(path_ / kPlan, ExitCode::usage, kLargestFile)));
  } catch (const std::exception& problem) {
    if (dynamic_cast<const Error*>(&problem)) throw;
    throw Error(ExitCode::usage, fmt::format("{} is damaged", (path_ / kPlan).string()),
                "trainer sweep CONFIG starts a new search");
  }
  lock();
  open_results();
}

bool SearchFolder::is_one(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / kPlan, ignored);
}

void SearchFolder::lock() {
  const fs::path path = path_ / kLock;
  lock_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (lock_.number() < 0)
    throw Error(ExitCode::usage,
                fmt::format("cannot write {}: {}", path.string(), std::generic_category().message(errno)));
  // A file system without locks reports another error: the directory counts as free.
  if (::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw Error(ExitCode::usage, fmt::format("{} is in use: another process searches in it", path_.string()),
                "wait until it ends, or stop it");
}

void SearchFolder::open_results() {
  results_ = std::make_unique<LineFile>(path_ / kResults, [](std::string_view) { return true; });
}

fs::path SearchFolder::config_of(const Trial& trial) const {
  return path_ / "configs" / (number_text(trial) + ".yaml");
}
fs::path SearchFolder::run_of(const Trial& trial) const { return path_ / "trials" / number_text(trial); }
fs::path SearchFolder::log_of(const Trial& trial) const {
  return path_ / "logs" / (number_text(trial) + ".txt");
}

std::vector<ReadOutcome> SearchFolder::read_outcomes(const ScoreFacts& facts) const {
  std::vector<ReadOutcome> outcomes;
  std::istringstream lines(read_file(path_ / kResults, ExitCode::failure, kLargestFile));
  for (std::string line; std::getline(lines, line);)
    if (auto read = outcome_of_line(line, facts))
      if (read->trial >= 1 && read->trial <= std::ssize(plan_.trials) && is_final(read->outcome))
        outcomes.push_back(std::move(*read));
  return outcomes;
}

void SearchFolder::add_outcome(const Trial& trial, const Outcome& outcome, const ScoreFacts& facts) {
  results_->append(line_of(trial.number, outcome, facts));
  results_->flush();
}

}  // namespace trainer
