#include "models/checkpoints/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The working directory for one test.
class WorkingIn {
 public:
  explicit WorkingIn(const fs::path& path) : before_(fs::current_path()) { fs::current_path(path); }
  ~WorkingIn() { fs::current_path(before_); }
  WorkingIn(const WorkingIn&) = delete;
  WorkingIn& operator=(const WorkingIn&) = delete;

 private:
  fs::path before_;
};

const RunDirectory::Description kDescription{"train: {}\n", "trainer a.yaml", "{}"};
const RunFacts kFacts{.steps_per_epoch = 10,
                      .total_steps = 20,
                      .batch = 4,
                      .epochs = 2,
                      .metrics = {{.name = "accuracy"}, {.name = "top_5", .table_name = "table"}},
                      .evaluation_split = "test"};

ExitCode code_of(const RunDirectory::Options& options) {
  try {
    RunDirectory directory(options, kDescription);
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::ok;
}

}  // namespace

TEST_CASE("runs of one name stand beside each other, and none is overwritten", "[training]") {
  const TemporaryFolder folder;
  const WorkingIn working(folder.path());
  CHECK(RunDirectory({.name = "a"}, kDescription).path() == "runs/a");
  CHECK(RunDirectory({.name = "a"}, kDescription).path() == "runs/a-2");
  CHECK(RunDirectory({.name = "a"}, kDescription).path() == "runs/a-3");
  CHECK(lines_of("runs/a-2/command.txt") == std::vector<std::string>{"trainer a.yaml"});
}

TEST_CASE("a directory of the user's choice is taken when it is missing or empty", "[training]") {
  const TemporaryFolder folder;
  CHECK(code_of({.out = folder.path() / "new/deeper"}) == ExitCode::ok);
  fs::create_directory(folder.path() / "empty");
  CHECK(code_of({.out = folder.path() / "empty"}) == ExitCode::ok);
  CHECK(code_of({.out = folder.path() / "empty"}) == ExitCode::usage);
  CHECK(code_of({.out = folder.path() / "empty/config.yaml"}) == ExitCode::usage);
  CHECK(code_of({.out = folder.path() / "empty/config.yaml/below"}) == ExitCode::usage);
}

TEST_CASE("a run that cannot begin leaves no directory around it", "[training]") {
  const TemporaryFolder folder;
  const WorkingIn working(folder.path());
  const std::string too_long(300, 'x');
  CHECK(code_of({.name = too_long}) == ExitCode::usage);
  CHECK(code_of({.out = fs::path("kept")}) == ExitCode::ok);
  CHECK(code_of({.out = fs::path("kept/new/deeper") / too_long}) == ExitCode::usage);
  CHECK_FALSE(fs::exists("runs"));
  CHECK_FALSE(fs::exists("kept/new"));
  CHECK(fs::exists("kept/config.yaml"));
}

TEST_CASE("a directory in which a process was killed before its run began is taken, with nothing left of it",
          "[training]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run";
  fs::create_directory(path);
  for (const char* name : {"command.txt", "environment.json", "config.yaml.123-0.partial"})
    std::ofstream(path / name) << "half";
  CHECK(code_of({.out = path}) == ExitCode::usage);  // without a lock it is no run directory
  std::ofstream(path / "lock").close();
  SECTION("and no process holds its lock") {
    CHECK(code_of({.out = path}) == ExitCode::ok);
    CHECK(lines_of(path / "command.txt") == std::vector<std::string>{kDescription.command});
    CHECK_FALSE(fs::exists(path / "config.yaml.123-0.partial"));
  }
  SECTION("but not from one that is still alive, of which nothing is removed") {
    const Descriptor other(::open((path / "lock").c_str(), O_RDWR));
    REQUIRE(::flock(other.number(), LOCK_EX) == 0);
    CHECK(code_of({.out = path}) == ExitCode::usage);
    CHECK(lines_of(path / "command.txt") == std::vector<std::string>{"half"});
    CHECK(fs::exists(path / "lock"));
  }
}

TEST_CASE("a name that is a path cannot name a run", "[training]") {
  const TemporaryFolder folder;
  const WorkingIn working(folder.path());
  CHECK(code_of({.name = GENERATE("a/b", "..", ".", "", "/a")}) == ExitCode::usage);
}

TEST_CASE("results.csv has a row an epoch with the columns of the configured metrics", "[training]") {
  const TemporaryFolder folder;
  RunDirectory directory({.out = folder.path() / "run"}, kDescription);
  directory.on_start(kFacts);
  EpochReport report{.epoch = 1,
                     .train = Scores{.loss = 1.0 / 3, .metrics = {0.5, 0.75}},
                     .evaluation = Scores{.loss = 0.25, .metrics = {0.5, 1}},
                     .rate = 0.05,
                     .examples_per_second = 31900.04,
                     .comm_share = 0.04,
                     .wait_share = 0.02,
                     .data_share = 0.01,
                     .time = 2};
  directory.on_epoch(report);
  report.evaluation.reset();
  directory.on_epoch(report);
  CHECK(
      lines_of(directory.path() / "results.csv") ==
      std::vector<std::string>{"epoch,time,train/loss,train/accuracy,train/top_5,test/loss,test/"
                               "accuracy,test/top_5,lr,examples_per_second,comm_share,wait_share,data_share",
                               "1,2.000,0.333333333,0.5,0.75,0.25,0.5,1,0.05,31900.0,0.0400,0.0200,0.0100",
                               "1,2.000,0.333333333,0.5,0.75,,,,0.05,31900.0,0.0400,0.0200,0.0100"});
}

TEST_CASE("metrics.jsonl has logged steps and evaluations, and NaN is null", "[training]") {
  const TemporaryFolder folder;
  RunDirectory directory({.out = folder.path() / "run"}, kDescription);
  directory.on_start(kFacts);
  StepReport report{
      .step = 10, .epoch = 1, .scores = Scores{.loss = 0.31, .metrics = {0.5, 1}}, .rate = 0.05};
  directory.on_step(report);
  report.logged = true;
  report.scores.loss = std::numeric_limits<double>::quiet_NaN();
  directory.on_step(report);
  directory.on_evaluation(report, "test",
                          {.samples = 7, .loss = 2.125, .metrics = {0, 0.25}, .tables = {{}, {1, 2, 3, 4}}});
  const auto lines = lines_of(directory.path() / "metrics.jsonl");
  REQUIRE(lines.size() == 2);
  const auto first = nlohmann::json::parse(lines[0]), second = nlohmann::json::parse(lines[1]);
  CHECK(first["loss"].is_null());
  CHECK(first["split"] == "train");
  CHECK(first["step"] == 10);
  CHECK(first["top_5"] == 1);
  CHECK(second["split"] == "test");
  CHECK(second["loss"] == 2.125);
  CHECK(second["lr"] == 0.05);
  CHECK(second["table"] == nlohmann::json{{1, 2}, {3, 4}});
  CHECK_FALSE(first.contains("table"));
}

TEST_CASE("a link that lies where a file would go is not followed", "[training]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "precious") << "mine";
  fs::create_symlink(folder.path() / "precious", folder.path() / "results.csv");
  CHECK_THROWS_AS(LineFile(folder.path() / "results.csv"), Error);
  CHECK(lines_of(folder.path() / "precious") == std::vector<std::string>{"mine"});
}

TEST_CASE("a resumed file loses rejected and empty lines", "[training]") {
  const TemporaryFolder folder;
  const std::string text =
      GENERATE(as<std::string>{}, "", "\n", "\n\n", "\ncut\n\n", "cut\n", "\ncu", "kept\n\n");
  std::ofstream(folder.path() / "lines") << text;
  LineFile(folder.path() / "lines", [](std::string_view line) { return line == "kept"; }).append("new");
  INFO(text);
  std::vector<std::string> expected{"new"};
  if (text.starts_with("kept")) expected.insert(expected.begin(), "kept");
  CHECK(lines_of(folder.path() / "lines") == expected);
}

TEST_CASE("a resumed file that is a hard link leaves the other name as it was", "[training]") {
  const TemporaryFolder folder;
  const fs::path original = folder.path() / "original", copy = folder.path() / "copy";
  std::ofstream(original) << "1\n2\n3\n";
  fs::create_hard_link(original, copy);
  {
    LineFile file(copy, [](std::string_view line) { return line != "3"; });
    file.append("4");
    file.flush();
  }
  CHECK(lines_of(original) == std::vector<std::string>{"1", "2", "3"});
  CHECK(lines_of(copy) == std::vector<std::string>{"1", "2", "4"});
}

TEST_CASE("a named pipe in a file's place is reported, not waited for", "[training]") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder.path() / "lines").c_str(), 0666) == 0);
  CHECK_THROWS_WITH(LineFile(folder.path() / "lines", [](std::string_view) { return true; }),
                    Catch::Contains("cannot write"));
}

TEST_CASE("a line that does not fit on the disk is an error, and no part of it stays", "[training]") {
  const TemporaryFolder folder;
  LineFile file(folder.path() / "lines");
  file.append("whole");
  // A limit on the size of files stands for a full disk: it too cuts a write short.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = 10, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  std::string message;
  try {
    file.append("this is longer than what is left");
  } catch (const Error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(message.find((folder.path() / "lines").string() + ": File too large") != std::string::npos);
  CHECK(lines_of(folder.path() / "lines") == std::vector<std::string>{"whole"});
}

}  // namespace trainer
