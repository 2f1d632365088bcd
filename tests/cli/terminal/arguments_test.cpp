#include "cli/terminal/arguments.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "engine/config/synonyms.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

Arguments parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "trainer");
  return parse_arguments(words);
}

Diagnostic mistake_in(std::vector<std::string> words) {
  try {
    parsed(std::move(words));
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.diagnostics().front();
  }
  return {};
}

Error mesh_mistake(const Arguments& arguments, int ranks) {
  try {
    mesh_of(arguments, ranks);
  } catch (const Error& error) {
    return error;
  }
  return Error(ExitCode::ok, "none");
}

}  // namespace

TEST_CASE("a command line without a command trains, wherever its flags stand", "[cli]") {
  const std::vector<std::vector<std::string>> lines{
      {"a.yaml", "-n", "4", "--datapar"},
      {"-n", "4", "--datapar", "a.yaml"},
      {"-n4", "-p", "a.yaml"},
      {"-pn", "4", "a.yaml"},
      {"train", "--ranks=4", "-p", "a.yaml"},
      {"--datapar", "-n", "4", "train", "a.yaml"},
  };
  for (const auto& line : lines) {
    const Arguments arguments = parsed(line);
    CHECK(arguments.verb == Verb::train);
    CHECK(arguments.files == std::vector<std::string>{"a.yaml"});
    CHECK(arguments.ranks == 4);
    CHECK(arguments.datapar);
  }
}

TEST_CASE("--engine takes an engine or a file, and nothing that is neither", "[cli]") {
  CHECK(parsed({"a.yaml", "--engine", "openblas"}).engine == Engine::openblas);
  const Arguments by_file = parsed({"a.yaml", "--engine", "t.csv"});
  CHECK(by_file.engine == Engine::automatic);
  CHECK(by_file.engine_table == "t.csv");
  CHECK(mistake_in({"a.yaml", "--engine", "opneblas"}).what.find("did you mean `openblas`?") !=
        std::string::npos);
  CHECK(mistake_in({"time", "a.yaml", "--engines", "auto"}).what == "--engines expects a file to write");
  CHECK(mistake_in({"time", "a.yaml", "--engines", "t.csv", "--steps", "1"}).what.find("at least 2") !=
        std::string::npos);
  CHECK(mistake_in({"time", "a.yaml", "--engines", "t.csv", "--engine", "native"}).what.find("--engine") ==
        0);
}

TEST_CASE("commands that take a config take several files, wherever flags stand between them", "[cli]") {
  const std::vector<std::string> files{"a.yaml", "b.yaml", "c.yaml"};
  CHECK(parsed({"a.yaml", "b.yaml", "-n", "2", "-p", "c.yaml"}).files == files);
  CHECK(parsed({"a.yaml", "-s", "train.epochs=1", "b.yaml", "c.yaml"}).files == files);
  for (const char* const verb :
       {"train", "check", "config", "summary", "plan", "time", "sweep", "cv", "lr-find"})
    CHECK(parsed({verb, "a.yaml", "b.yaml", "c.yaml"}).files == files);
  CHECK(parsed({"forecast", "a.yaml", "b.yaml", "c.yaml", "-n", "1,2"}).files == files);
}

TEST_CASE("a value that is called like a command is no command", "[cli]") {
  const Arguments arguments = parsed({"--name", "check", "a.yaml"});
  CHECK(arguments.verb == Verb::train);
  CHECK(arguments.name == "check");
}

TEST_CASE("an override takes one word, wherever the file stands among several", "[cli]") {
  const std::vector<std::vector<std::string>> lines{
      {"a.yaml", "-s", "a=1", "-s", "b=2"},
      {"-s", "a=1", "a.yaml", "-s", "b=2"},
      {"check", "-s", "a=1", "a.yaml", "--set", "b=2"},
      {"-s", "a=1", "-s", "b=2", "a.yaml", "--name", "q"},
  };
  for (const auto& line : lines) {
    const Arguments arguments = parsed(line);
    CHECK(arguments.files == std::vector<std::string>{"a.yaml"});
    CHECK(arguments.overrides == std::vector<std::string>{"a=1", "b=2"});
  }
}

TEST_CASE("progress is shown as asked for", "[cli]") {
  CHECK(parsed({"a.yaml"}).progress == ProgressMode::automatic);
  CHECK(parsed({"a.yaml", "--progress", "json"}).progress == ProgressMode::json);
  CHECK(parsed({"a.yaml", "--progress=none"}).progress == ProgressMode::none);
}

TEST_CASE("overrides keep their order, and --seed is one of them", "[cli]") {
  const Arguments arguments =
      parsed({"a.yaml", "-s", "train.epochs=1", "--seed", "7", "-s", "vars.a=[1, 2]"});
  CHECK(arguments.overrides == std::vector<std::string>{"train.epochs=1", "vars.a=[1, 2]", "train.seed=7"});
}

TEST_CASE("a mistyped command or flag gets a suggestion", "[cli]") {
  CHECK(mistake_in({"chekc", "a.yaml"}).what == "unknown command `chekc`");
  CHECK(mistake_in({"chekc", "a.yaml"}).help == "did you mean `check`?");
  CHECK(mistake_in({"--datparr", "a.yaml"}).help == "did you mean `--datapar`?");
  CHECK(mistake_in({"eval", "--splt", "test", "runs/a"}).help == "did you mean `--split`?");
  CHECK(mistake_in({"--sed=3", "a.yaml"}).what == "unknown flag `--sed` of `trainer train`");
}

TEST_CASE("flags with values that cannot be are mistakes", "[cli]") {
  CHECK(mistake_in({"--seed", "x", "a.yaml"}).what ==
        "--seed: expects a whole number of at least 0, got `x`");
  CHECK(mistake_in({"--threads", "0", "a.yaml"}).what ==
        "--threads: expects a whole number from 1 to 1024, got `0`");
  CHECK(mistake_in({"--mesh", "2x", "a.yaml"}).what == "--mesh expects DxM, got `2x`");
  CHECK(mistake_in({"--mesh", "0x2", "a.yaml"}).what == "--mesh expects DxM, got `0x2`");
  CHECK(mistake_in({"-p", "-m", "a.yaml"}).what == "--datapar and --modelpar together need --mesh DxM");
  CHECK(mistake_in({"eval", "runs/a", "runs/b"}).what == "unexpected argument `runs/b`");
  CHECK(mistake_in({"a.yaml", "-n"}).what == "-n,--ranks expects a value");
  CHECK(mistake_in({"a.yaml", "-n"}).help == "--ranks N");
  CHECK(mistake_in({"a.yaml", "--datapar=false"}).what == "--datapar takes no value");
  CHECK(mistake_in({"a.yaml", "--quiet=maybe"}).what == "--quiet takes no value");
  CHECK(mistake_in({"generate", "runs/a", "--json=false"}).what == "--json takes no value");
  CHECK(mistake_in({"a.yaml", "-q=1"}).what == "-q takes no value");
  CHECK(mistake_in({"a.yaml", "-n=2"}).what == "-n,--ranks: a value follows the letter without =");
  CHECK(mistake_in({"a.yaml", "-n=2"}).help == "-n 2");
  CHECK(mistake_in({"a.yaml", "-n="}).help == "-n N");
  CHECK(mistake_in({"a.yaml", "-s=seed=2"}).help == "-s seed=2");
  CHECK(mistake_in({"a.yaml", "-o=x"}).help == "-o x");
  CHECK(mistake_in({"a.yaml", "-k=3"}).what == "unknown flag `-k` of `trainer train`");
  CHECK(parsed({"generate", "runs/a", "--prompt", "-n=2"}).verb == Verb::generate);
  CHECK(mistake_in({"a.yaml", "-s"}).what == "-s,--set expects a value");
  CHECK(mistake_in({"a.yaml", "--init", ""}).what == "--init expects a value that is not empty");
  CHECK(mistake_in({"a.yaml", "--walltime", ""}).what == "--walltime expects a value that is not empty");
  CHECK(mistake_in({"forecast", "a.yaml", "-n", ""}).what == "-n,--ranks expects a value that is not empty");
  CHECK(mistake_in({"a.yaml", "--seed", "1", "--seed", "2"}).what == "--seed is given more than once");
  CHECK(mistake_in({"--progress", "dots", "a.yaml"}).what ==
        "--progress: expects auto, bar, json, none or plain, got `dots`");
  CHECK_FALSE(mistake_in({"train"}).what.empty());
  CHECK_FALSE(mistake_in({}).what.empty());
  CHECK_FALSE(mistake_in({"-q", "-v", "a.yaml"}).what.empty());
}

TEST_CASE("a mistake in a value names both spellings of its flag", "[cli]") {
  CHECK(mistake_in({"a.yaml", "-n", "0"}).what ==
        "-n,--ranks: expects a whole number from 1 to 1000000, got `0`");
  CHECK(mistake_in({"a.yaml", "-n", "2", "-n", "3"}).what == "-n,--ranks is given more than once");
  CHECK(mistake_in({"cv", "a.yaml", "-k", "1"}).what ==
        "-k,--folds: expects a whole number from 2 to 100000, got `1`");
  CHECK(mistake_in({"a.yaml", "-qn", "x"}).what.starts_with("-n,--ranks: expects"));
  CHECK(mistake_in({"a.yaml", "-o", ""}).what == "-o,--out expects a value that is not empty");
  CHECK(mistake_in({"plan", "a.yaml", "-n", "0"}).what.starts_with("-n,--ranks expects a number"));
}

TEST_CASE("two dashes end the flags", "[cli]") {
  const Arguments arguments = parsed({"predict", "runs/a", "--", "-1.png", "b.png"});
  CHECK(arguments.files == std::vector<std::string>{"runs/a", "-1.png", "b.png"});
  CHECK(mistake_in({"predict", "runs/a", "--tops", "--", "b.png"}).what.starts_with("unknown flag `--tops`"));
}

TEST_CASE("a wrong number of runs is named", "[cli]") {
  CHECK(mistake_in({"bisect", "runs/a"}).what == "RUN expects 2 run directories, got 1");
  CHECK(mistake_in({"bisect", "a", "b", "c"}).what == "RUN expects 2 run directories, got 3");
  CHECK(mistake_in({"bisect", "a"}).help == "trainer bisect RUN1 RUN2");
}

TEST_CASE("a key of the YAML that is given as a flag gets an explanation", "[cli]") {
  const std::vector<std::vector<std::string>> lines{
      {"--epochs", "3", "a.yaml"}, {"a.yaml", "--epochs", "3"}, {"a.yaml", "--epochs=3"}};
  for (const auto& line : lines) {
    CHECK(mistake_in(line).what == "unknown flag `--epochs`");
    CHECK(mistake_in(line).help == "keys of the YAML are set with -s train.epochs=VALUE");
  }
  CHECK(mistake_in({"a.yaml", "--lr", "0.1"}).help ==
        "keys of the YAML are set with -s train.optimizer.NAME.lr=VALUE");
}

TEST_CASE("a time to stop is read as hours, minutes and seconds", "[cli]") {
  CHECK(parsed({"a.yaml", "--walltime", "01:02:03"}).walltime == 3723);
  for (const char* text : {"90", "1:00", "00:60:00", "00:00:00", "-1:00:00", "01:02:03x"})
    CHECK_FALSE(mistake_in({"--walltime", text, "a.yaml"}).what.empty());
}

TEST_CASE("a command or flag of other programs is answered with that of this one", "[cli]") {
  const std::string help = parsed({"train", "--help"}).message + parsed({"generate", "--help"}).message +
                           parsed({"--help"}).message;
  for (const Synonyms& one : synonyms())
    if (one.kind == "command" || one.kind == "flag")
      CHECK_THAT(
          help, Catch::Contains(std::string(one.name) + " ") || Catch::Contains(std::string(one.name) + ","));
  CHECK(mistake_in({"fit", "a.yaml"}).help == "`fit` is called `train` here");
  CHECK(mistake_in({"a.yaml", "--np=2"}).help == "`--np` is called `--ranks` here");
  CHECK(mistake_in({"generate", "runs/a", "--max-new-tokens", "9"}).help ==
        "`--max-new-tokens` is called `--tokens` here");
}

TEST_CASE("only what exists is offered", "[cli]") {
  CHECK(mistake_in({"sweeps", "a.yaml"}).what == "unknown command `sweeps`");
  CHECK(mistake_in({"--dashboard", "a.yaml"}).what.find("unknown flag") == 0);
}

TEST_CASE("the help of all commands fits 80 columns", "[cli]") {
  for (const char* command : {"", "train", "new", "check", "plan", "sweep", "eval", "predict", "export"}) {
    std::istringstream lines(parsed(*command == '\0' ? std::vector<std::string>{"--help"}
                                                     : std::vector<std::string>{command, "--help"})
                                 .message);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(line.size() <= 80);
    }
  }
}

TEST_CASE("help and version are messages, of the whole and of a command", "[cli]") {
  CHECK(parsed({"--help"}).message.find("summary") != std::string::npos);
  CHECK(parsed({"train", "--help"}).message.find("--datapar") != std::string::npos);
  CHECK(parsed({"eval", "-h"}).message.find("--split") != std::string::npos);
  CHECK(parsed({"--version"}).message.find("trainer ") == 0);
  CHECK(parsed({"--help"}).verb == Verb::message);
  CHECK(parsed({"help"}).message == parsed({"--help"}).message);
  CHECK(parsed({"help", "train"}).message == parsed({"train", "--help"}).message);
}

TEST_CASE("a mode and a number of ranks make a grid", "[cli]") {
  const auto shape = [](std::vector<std::string> words, int ranks) {
    words.push_back("a.yaml");
    const MeshShape mesh = mesh_of(parsed(words), ranks);
    return std::pair(mesh.data, mesh.model);
  };
  CHECK(shape({}, 1) == std::pair(1, 1));
  CHECK(shape({"-p"}, 1) == std::pair(1, 1));
  CHECK(shape({"-p"}, 3) == std::pair(3, 1));
  CHECK(shape({"-m"}, 3) == std::pair(1, 3));
  CHECK(shape({"--mesh", "2x3"}, 6) == std::pair(2, 3));
  CHECK(shape({"-p", "-m", "--mesh", "2x3"}, 6) == std::pair(2, 3));
  CHECK(parsed({"--mesh", "auto", "a.yaml"}).chooses_mesh);
  CHECK(mistake_in({"--link", "10Gbps,20us", "a.yaml"}).what == "--link describes the hosts for --mesh auto");
  CHECK(mistake_in({"plan", "-n", "4", "--mesh", "auto", "a.yaml"}).help ==
        "trainer forecast -n N ... finds the best one");
}

TEST_CASE("ranks without a mode, or too many for the mesh, get the right command", "[cli]") {
  const Error no_mode = mesh_mistake(parsed({"configs/mnist-small.yaml"}), 4);
  CHECK(no_mode.code() == ExitCode::ranks);
  CHECK(no_mode.diagnostics().front().what == "4 processes were started without --datapar or --modelpar");
  CHECK(no_mode.diagnostics().front().help == "mpirun -n 4 trainer --datapar configs/mnist-small.yaml");
  const Error of_time = mesh_mistake(parsed({"time", "-n", "2", "a.yaml"}), 2);
  CHECK(of_time.diagnostics().front().help == "trainer -n 2 time --datapar a.yaml");
  const Error no_mesh = mesh_mistake(parsed({"--mesh", "2x2", "a.yaml"}), 6);
  CHECK(no_mesh.code() == ExitCode::ranks);
  CHECK(no_mesh.diagnostics().front().what == "6 ranks do not make a 2x2 mesh");
  CHECK(no_mesh.diagnostics().front().help == "mpirun -n 4 ..., or --mesh 3x2, or --datapar");
  const Error direct = mesh_mistake(parsed({"-n", "4", "--mesh", "2x3", "a.yaml"}), 4);
  CHECK(direct.diagnostics().front().help == "trainer -n 6 ..., or --datapar");
}

TEST_CASE("the flags of a sweep are for its trials, and shares and times have bounds and units", "[cli]") {
  const Arguments arguments = parsed({"sweep", "a.yaml", "-n", "2", "--datapar", "--jobs", "3", "--time",
                                      "1.5h", "--seed", "7", "-s", "train.batch=[1,2]"});
  CHECK(arguments.ranks == 0);
  CHECK(arguments.search.ranks == 2);
  CHECK(arguments.search.jobs == 3);
  CHECK(arguments.search.seconds == 5400);
  CHECK(arguments.search.seed == 7);
  CHECK(arguments.overrides == std::vector<std::string>{"train.batch=[1,2]"});
  CHECK(mistake_in({"sweep", "a.yaml", "--time", "90"}).what ==
        "--time expects a time with its unit, got `90`");
  CHECK(mistake_in({"a.yaml", "--until", "2"}).what == "--until expects a share of the steps, got 2");
  CHECK(parsed({"a.yaml", "--until", "0.5"}).until == 0.5);
}

}  // namespace trainer
