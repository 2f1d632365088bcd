// Runs resume by hand, after a kill and on other ranks; a run that cannot resume reports why.
#include <catch2/catch.hpp>
#include <sstream>

#include "models/checkpoints/checkpoint_state.h"
#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

const std::string kWeights = "checkpoints/last/model.safetensors";

/// metrics.jsonl and results.csv without what depends on the clock.
std::string timeless(const fs::path& run) {
  std::istringstream metrics(read_text(run / "metrics.jsonl")), results(read_text(run / "results.csv"));
  std::string text;
  for (std::string line; std::getline(metrics, line);)
    text += line.substr(0, line.find(",\"examples_per_second\"")) + "\n";
  for (std::string row; std::getline(results, row);) {
    std::istringstream cells(row);
    std::string cell;
    // epoch, time, the scores, lr; then speed and shares
    for (int column = 0; column < 7 && std::getline(cells, cell, ','); ++column)
      if (column != 1) text += cell + ",";
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a run that was cut off resumes to the same files, wherever it resumes", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=4", "-s", "train.log_every=1", "-o", "whole"}).code ==
          0);
  const std::vector<std::string> half{"a.yaml", "-s",  "train.epochs=2", "-s", "train.log_every=1",
                                      "-o",     "half"};
  REQUIRE(run.trainer(half).code == 0);
  write_text(run.path("half/metrics.jsonl"), read_text(run.path("half/metrics.jsonl")) +
                                                 "{\"step\":11,\"epoch\":3,\"split\":\"train\"}\n{\"st");
  const ProgramResult result = run.trainer({"half", "-s", "train.epochs=4"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out.find("run           half, resumes after step 10\n") != std::string::npos);
  CHECK(timeless(run.path("half")) == timeless(run.path("whole")));
  CHECK(read_text(run.path("half") / kWeights) == read_text(run.path("whole") / kWeights));
  CHECK(occurrences(read_text(run.path("half/command.txt")), "\n") == 2);
  CHECK(run.trainer({"half", "-s", "train.epochs=6", "--datapar"}, 2).code == 0);
  CHECK(run.trainer({"--resume", "half", "-s", "train.epochs=7", "--modelpar"}, 3).code == 0);
  CHECK(occurrences(read_text(run.path("half/results.csv")), "\n") == 8);
}

TEST_CASE("resuming a finished run reports that, ends with 0 and changes nothing", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const std::string before = read_text(run.path("runs/a/metrics.jsonl"));
  const ProgramResult result = run.trainer({"runs/a"});
  CHECK(result.code == 0);
  CHECK(result.out == "runs/a is finished: 5 of 5 steps are done   use: trainer eval runs/a\n");
  CHECK(read_text(run.path("runs/a/metrics.jsonl")) == before);
}

TEST_CASE("a resumed run refuses at once an end before its step and a directory that is a link", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const std::string metrics = read_text(run.path("runs/a/metrics.jsonl"));
  const std::string config = read_text(run.path("runs/a/config.yaml"));
  const ProgramResult shorter = run.trainer({"runs/a", "-s", "train.steps=2", "--datapar"}, GENERATE(1, 2));
  CHECK(shorter.code == 2);
  CHECK(shorter.err.find("error: runs/a has done 5 steps, and cannot end after 2\n") == 0);
  CHECK(occurrences(shorter.err, "error:") == 1);
  fs::rename(run.path("runs/a/checkpoints"), run.path("elsewhere"));
  fs::create_directory_symlink(run.path("elsewhere"), run.path("runs/a/checkpoints"));
  const ProgramResult linked = run.trainer({"runs/a", "-s", "train.epochs=2"});
  CHECK(linked.code == 1);
  CHECK(linked.err.find("error: runs/a/checkpoints is a link, which is not followed\n") == 0);
  CHECK(read_text(run.path("runs/a/metrics.jsonl")) == metrics);
  CHECK(read_text(run.path("runs/a/config.yaml")) == config);
}

TEST_CASE("a finished run of no steps is finished", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=~", "-s", "train.steps=0", "-o", "none"}).code == 0);
  const std::string log = read_text(run.path("none/metrics.jsonl"));
  const ProgramResult again = run.trainer({"none"});
  INFO(again.out << again.err);
  CHECK(again.code == 0);
  CHECK(again.out.find("none is finished") != std::string::npos);
  CHECK(read_text(run.path("none/metrics.jsonl")) == log);
}

TEST_CASE("--until needs evaluations", "[resume]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"a.yaml", "--until", "0.5", "-s", "train.evaluate=never"});
  CHECK(result.code == 2);
  CHECK(result.err.find("--until stops after an evaluation") != std::string::npos);
}

TEST_CASE("a run without a checkpoint starts again at step 0, with a note", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  REQUIRE(run.trainer({"a.yaml", "-s", "train.checkpoint=never", "-o", "b"}).code == 0);
  const ProgramResult again = run.trainer({"b", "-s", "train.checkpoint=epoch"});
  CHECK(again.code == 0);
  CHECK(again.err == "note: b has no checkpoint: it starts at step 0\n");
  CHECK(timeless(run.path("b")) == timeless(run.path("runs/a")));
  CHECK(read_text(run.path("b") / kWeights) == read_text(run.path("runs/a") / kWeights));
}

TEST_CASE("a run of which a copy has lost the links resumes, and is evaluated, where it was", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=2"}).code == 0);
  for (const char* link : {"last", "best"}) fs::remove(run.path("runs/a/checkpoints") / link);
  CHECK(run.trainer({"eval", "runs/a"}).out.find("runs/a/checkpoints/step-10\n") == 0);
  CHECK(run.trainer({"runs/a"}).out.find("runs/a is finished: 10 of 10 steps are done") == 0);
  CHECK(run.trainer({"runs/a", "-s", "train.epochs=3"}).out.find("resumes after step 10\n") !=
        std::string::npos);
  CHECK(fs::read_symlink(run.path("runs/a/checkpoints/last")) == "step-15");
}

TEST_CASE("a run that was copied with links followed is evaluated, reported and resumes", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=2"}).code == 0);
  REQUIRE(run.shell("cp -rL runs/a b").code == 0);
  const auto scores = [&](const std::string& path) {
    const std::string text = run.trainer({"eval", path}).out;
    return text.substr(text.find('\n'));
  };
  CHECK(scores("b") == scores("runs/a"));
  const std::string best = fs::read_symlink(run.path("runs/a/checkpoints/best")).string();
  REQUIRE(run.trainer({"report", "b"}).code == 0);
  CHECK(read_text(run.path("b/report.html")).find("Best weights") != std::string::npos);
  CHECK(read_text(run.path("b/report.html")).find("checkpoints/" + best) != std::string::npos);
  CHECK(run.trainer({"b"}).out.find("b is finished: 10 of 10 steps are done") == 0);
  for (const std::string& path : {std::string("runs/a"), std::string("b")}) {
    const ProgramResult result = run.trainer({path, "-s", "train.epochs=5", "-q"});
    INFO(result.err);
    CHECK(result.code == 0);
  }
  for (const char* link : {"last", "best"})
    CHECK(fs::read_symlink(run.path("b/checkpoints") / link) ==
          fs::read_symlink(run.path("runs/a/checkpoints") / link));
  CHECK(read_text(run.path("b") / kWeights) == read_text(run.path("runs/a") / kWeights));
  CHECK(timeless(run.path("b")) == timeless(run.path("runs/a")));
  CHECK(run.shell("ls b/checkpoints").out == run.shell("ls runs/a/checkpoints").out);
}

TEST_CASE("a run that resumes changes no key that makes another run of it, and names those", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const ProgramResult result = run.trainer(
      {"runs/a", "-s", "train.batch=4", "-s", "train.optimizer.sgd.lr=1", "-s", "train.epochs=2"});
  CHECK(result.code == 2);
  CHECK(result.err.find("cannot change train.batch and train.optimizer.sgd.lr\n") != std::string::npos);
  CHECK(result.err.find("help: trainer runs/a/config.yaml ... starts a new run") != std::string::npos);
  CHECK(run.trainer({"runs/a", "--name", "b"}).code == 2);
  CHECK(run.trainer({"runs/a", "--init", "x"}).code == 2);
  CHECK(run.trainer({"--resume", "a.yaml"}).code == 2);
  CHECK(run.trainer({"--resume", "set"}).code == 2);
}

TEST_CASE("a run without a checkpoint starts from the weights of --init", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-q", "-o", "first", "-s", "train.seed=5"}).code == 0);
  const std::string weights = "first/checkpoints/last/model.safetensors";
  REQUIRE(run.trainer({"a.yaml", "-q", "-o", "given", "--init", weights}).code == 0);
  REQUIRE(run.trainer({"a.yaml", "-q", "-o", "b"}).code == 0);
  fs::remove_all(run.path("b/checkpoints"));
  const int ranks = GENERATE(1, 2);
  std::vector<std::string> words{"b", "--init", weights};
  if (ranks > 1) words.insert(words.end(), {"--resume", "--datapar"});
  const ProgramResult resumed = run.trainer(words, ranks);
  INFO(resumed.out << resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK(resumed.err.find("note: b has no checkpoint: it starts at step 0\n") != std::string::npos);
  if (ranks == 1) CHECK(read_text(run.path("b") / kWeights) == read_text(run.path("given") / kWeights));
  CHECK(read_text(run.path("b") / kWeights) != read_text(run.path("first") / kWeights));
  const ProgramResult again = run.trainer({"b", "--init", weights, "-s", "train.epochs=2"});
  CHECK(again.code == 2);
  CHECK(again.err.find("error: --init is for a run that starts, and b has a checkpoint to resume from\n") ==
        0);
}

TEST_CASE("an exact run keeps the engine of its checkpoint; any other run may change it, with a note",
          "[resume]") {
  const SmallRun run;
  const bool exact = GENERATE(true, false);
  const std::string setting = exact ? "train.exact=true" : "train.exact=false";
  REQUIRE(run.trainer({"a.yaml", "--engine", "native", "-s", setting, "-s", "train.epochs=1"}).code == 0);
  const ProgramResult result = run.trainer({"runs/a", "--engine", "openblas", "-s", "train.epochs=2"});
  INFO(result.err);
  CHECK(result.code == (exact ? 2 : 0));
  CHECK(result.err.find(exact ? "error: an exact run cannot change its engine from native ("
                              : "note: engine openblas ") == 0);
  CHECK(run.trainer({"runs/a", "--engine", "native", "-s", "train.epochs=3"}).code == 0);
}

TEST_CASE("a portable run resumes and replays with other kernels, with the same bits", "[resume]") {
  const SmallRun run;
  const std::string words = " -q -s train.exact='{portable: true}' -s train.chain=true -s train.epochs=";
  const auto code = [&](const std::string& line) {
    return run.shell("export TRAINER_ENGINE=native; " + line).code;
  };
  REQUIRE(code("$TRAINER a.yaml -o whole" + words + "3") == 0);
  REQUIRE(code("env TRAINER_INSTRUCTIONS=baseline $TRAINER a.yaml -o resumed" + words + "1") == 0);
  CHECK(code("$TRAINER resumed -q -s train.epochs=2") == 0);
  CHECK(code("env TRAINER_INSTRUCTIONS=baseline $TRAINER resumed -q -s train.epochs=3") == 0);
  CHECK(read_text(run.path("resumed/chain.jsonl")) == read_text(run.path("whole/chain.jsonl")));
  CHECK(code("env TRAINER_INSTRUCTIONS=baseline $TRAINER verify whole") == 0);
  CHECK(code("env TRAINER_INSTRUCTIONS=baseline $TRAINER verify whole --steps 12..14") == 0);
  CHECK(code("env TRAINER_INSTRUCTIONS=baseline $TRAINER bisect whole resumed") == 0);
}

TEST_CASE("a portable run refuses OpenBLAS at its key", "[resume]") {
  const SmallRun run;
  const ProgramResult result =
      run.trainer({"a.yaml", "--engine", "openblas", "-s", "train.exact={portable: true}"});
  CHECK(result.code == 2);
  CHECK(result.err.find("error: the products of OpenBLAS differ from processor to processor\n") == 0);
  CHECK(result.err.find("portable: true") != std::string::npos);
}

TEST_CASE("a config.yaml that was edited is reported with its key, and what may change may change there too",
          "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const std::string config = read_text(run.path("runs/a/config.yaml"));
  write_text(run.path("runs/a/config.yaml"), replaced(config, "lr: 0.1", "lr: 0.2"));
  const ProgramResult edited = run.trainer({"runs/a", "-s", "train.epochs=2", "--datapar"}, GENERATE(1, 2));
  INFO(edited.err);
  CHECK(edited.code == 2);
  CHECK(edited.err.find("error: a resumed run cannot change train.optimizer.sgd.lr\n") == 0);
  write_text(run.path("runs/a/config.yaml"), replaced(config, "epochs: 1", "epochs: 2"));
  CHECK(run.trainer({"runs/a"}).out.find("resumes after step 5\n") != std::string::npos);
}

TEST_CASE("a damaged checkpoint ends with 6 and the one before it, from which the run resumes", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=4", "-o", "whole"}).code == 0);
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=3", "-o", "b"}).code == 0);
  const std::string file = GENERATE("optimizer.safetensors", "state.json");
  write_text(run.path("b/checkpoints/step-15") / file, "{\"step\": \xFF");
  const ProgramResult result = run.trainer({"b", "-s", "train.epochs=4"});
  INFO(result.err);
  CHECK(result.code == 6);
  CHECK(result.err.find("error: b/checkpoints/step-15/" + file + " is damaged: its checksum is wrong\n") ==
        0);
  CHECK(run.trainer({"eval", "b/checkpoints/last"}).code == 6);
  const std::string before = "b/checkpoints/step-10";
  CHECK(result.err.find("trainer " + before) != std::string::npos);
  REQUIRE(run.trainer({before, "-s", "train.epochs=4"}).code == 0);
  CHECK(read_text(run.path("b") / kWeights) == read_text(run.path("whole") / kWeights));
  CHECK(timeless(run.path("b")) == timeless(run.path("whole")));
}

TEST_CASE("a link to another run's checkpoint, or to its files, ends each command with 6", "[resume]") {
  const SmallRun run;
  for (const char* name : {"a", "victim"})
    REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=2", "-q", "-o", name}).code == 0);
  const std::string file = GENERATE("", "/model.safetensors", "/state.json");
  const std::string link = "a/checkpoints/step-10" + file, target = "victim/checkpoints/step-10" + file;
  fs::remove_all(run.path(link));
  fs::create_symlink(run.path(target), run.path(link));
  fs::remove(run.path("a/checkpoints/best"));
  const std::string message = "error: " + link + " is a link to " + run.path(target).string();
  const std::string metrics = read_text(run.path("a/metrics.jsonl"));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"a", "-s", "train.epochs=3"},
                                             {"--resume", "a/checkpoints/step-10", "-s", "train.epochs=3"},
                                             {"eval", "a"},
                                             {"eval", "a/checkpoints/step-10"},
                                             {"eval", "a/checkpoints/last/"},
                                             {"predict", "a/checkpoints/step-10", "a.yaml"},
                                             {"generate", "a/checkpoints/step-10", "--prompt", "x"}}) {
    const ProgramResult result = run.trainer(words);
    INFO(words.front() << ": " << result.err);
    CHECK(result.code == 6);
    CHECK(result.err.find(message) == 0);
  }
  CHECK(read_text(run.path("a/metrics.jsonl")) == metrics);
  // A user who names such a file explicitly gets it.
  if (file == "/model.safetensors") CHECK(run.trainer({"a.yaml", "-q", "--init", link}).code == 0);
  fs::create_directory_symlink("victim", run.path("mine"));
  CHECK(run.trainer({"eval", "mine"}).code == 0);
}

TEST_CASE("ranks.csv counts the times of a resumed run since its last start", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-q", "-o", "b", "--datapar"}, 2).code == 0);
  const fs::path state = run.path("b/checkpoints/step-5/state.json");
  CheckpointState changed = parse_checkpoint_state(read_text(state));
  changed.run_times.training += std::chrono::hours(1);
  changed.run_times.data += std::chrono::hours(1);
  write_text(state, text_of(changed));
  REQUIRE(run.trainer({"b", "-s", "train.epochs=2", "-q", "--datapar"}, 2).code == 0);
  const std::string times = read_text(run.path("b/ranks.csv"));
  INFO(times);
  CHECK(times.find("3600.") == std::string::npos);
  CHECK(times.find("\n0,0.") != std::string::npos);
  CHECK(times.find("\n1,0.") != std::string::npos);
}

TEST_CASE("a configuration in a checkpoint that cannot be read is reported as its damage", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=2", "-q", "-o", "b"}).code == 0);
  const fs::path state = run.path("b/checkpoints/step-10/state.json");
  CheckpointState changed = parse_checkpoint_state(read_text(state));
  changed.config = GENERATE("data: [", "train: {epochs: many}", "{}");
  write_text(state, text_of(changed));
  const ProgramResult result = run.trainer({"b", "-s", "train.epochs=3", "--datapar"}, GENERATE(1, 2));
  INFO(result.err);
  CHECK(result.code == 6);
  CHECK(result.err.find("error: b/checkpoints/step-10/state.json is damaged: its configuration") == 0);
  CHECK(result.err.find("b/config.yaml") == std::string::npos);
  CHECK(result.err.find("help: the checkpoint before it: trainer b/checkpoints/step-5") != std::string::npos);
}

TEST_CASE("data that changed since is reported, and not learned from", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "data.normalize=per_channel"}).code == 0);
  SECTION("another number of samples") { write_small_mnist(run.path("set"), 48, 20); }
  SECTION("other samples in files of the same sizes") {
    const std::filesystem::path file = run.path("set/train-images-idx3-ubyte");
    std::string bytes = read_text(file);
    for (std::size_t i = 16; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bytes[i] / 2);
    write_text(file, bytes);
  }
  const ProgramResult result = run.trainer({"runs/a", "-s", "train.epochs=2"});
  CHECK(result.code == 3);
  CHECK(result.err.find("the data is not what the run learned from") != std::string::npos);
}

TEST_CASE("a second process in a run directory ends with a clear error", "[resume]") {
  const SmallRun run;
  const ProgramResult result = run.shell(
      "$TRAINER a.yaml -q -s train.steps=1000000000 -s train.evaluate=never & first=$!; "
      "until [ -e runs/a/results.csv ]; do sleep 0.1; done; $TRAINER runs/a; code=$?; kill -KILL $first; "
      "exit "
      "$code");
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find("error: runs/a is in use: another process trains in it") == 0);
}

TEST_CASE("a run resumes while a process that was killed still holds it for a moment", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const ProgramResult result =
      run.shell("flock runs/a/lock sleep 1 & sleep 0.3; $TRAINER runs/a -s train.epochs=2");
  INFO(result.err);
  CHECK(result.code == 0);
}

TEST_CASE("a signal stops a run with a checkpoint, 130 and the command that resumes it", "[resume]") {
  const SmallRun run;
  const std::string signal = GENERATE("TERM", "INT", "USR1");
  // Two ranks on a busy machine take a hundred times as long, on an idle one a signal must still come in
  // time.
  const auto [flags, steps, total] = GENERATE(table<std::string, std::string, std::string>(
      {{"", "20000", "20,000"}, {" -n 2 --datapar", "10000", "10,000"}}));
  const std::string settings = " -s train.steps=" + steps +
                               " -s train.log_every=50 -s train.evaluate={steps:\\ 200} -s "
                               "train.checkpoint={steps:\\ 100000}";
  const ProgramResult result = run.shell(
      "$TRAINER a.yaml -q" + flags + settings +
      " & run=$!; until grep -q .step.:200 runs/a/metrics.jsonl || ! kill -0 $run; do sleep 0.02; done "
      "2>/dev/null; kill -" +
      signal + " $run; wait $run");
  INFO(result.err);
  CHECK_FALSE(result.timed_out);
  CHECK(result.code == 130);
  CHECK(result.err.find("stopped after step ") == 0);
  CHECK(result.err.find(" of " + total + "; saved runs/a\nresume with: trainer" + flags + " runs/a\n") !=
        std::string::npos);
  REQUIRE(run.shell("$TRAINER" + flags + " runs/a -q").code == 0);
  REQUIRE(run.shell("$TRAINER a.yaml -q -o whole" + flags + settings).code == 0);
  CHECK(timeless(run.path("runs/a")) == timeless(run.path("whole")));
  CHECK(read_text(run.path("runs/a") / kWeights) == read_text(run.path("whole") / kWeights));
}

TEST_CASE("a signal during an evaluation leaves it to the run that resumes", "[resume]") {
  const SmallRun run;
  write_small_mnist(run.path("set"), 40, 20'000);
  const std::string settings = " -s train.steps=6 -s train.log_every=1 -s train.evaluate={steps:\\ 2}";
  const ProgramResult result =
      run.shell("$TRAINER a.yaml -q" + settings +
                " & run=$!; until grep -q 'step.:2,' runs/a/metrics.jsonl || ! kill -0 $run; do :; done "
                "2>/dev/null; kill -TERM $run; wait $run");
  INFO(result.err);
  CHECK(result.code == 130);
  CHECK(result.err.find("stopped after step 2 of 6") == 0);
  CHECK(read_text(run.path("runs/a/metrics.jsonl")).find("test") == std::string::npos);
  REQUIRE(run.shell("$TRAINER runs/a -q").code == 0);
  REQUIRE(run.shell("$TRAINER a.yaml -q -o whole" + settings).code == 0);
  CHECK(timeless(run.path("runs/a")) == timeless(run.path("whole")));
}

TEST_CASE("a run stops by itself before its time is over", "[resume]") {
  const SmallRun run;
  const ProgramResult result =
      run.trainer({"a.yaml", "-q", "--walltime", "00:00:11", "-s", "train.steps=1000000000", "-s",
                   "train.log_every=1000000", "-s", "train.evaluate=never", "-s",
                   "train.checkpoint={steps: 1000000000}"});
  CHECK(result.code == 130);
  CHECK(result.seconds < 11);
  CHECK(result.err.find("resume with: trainer --walltime 00:00:11 runs/a\n") != std::string::npos);
  CHECK(fs::exists(run.path("runs/a/checkpoints/last/state.json")));
  CHECK(run.trainer({"a.yaml", "--walltime", "2:00"}).code == 2);
}

TEST_CASE("the command that resumes it places the run as before, and guards it as before", "[resume]") {
  const SmallRun run;
  // The command leaves out display flags and what config.yaml keeps.
  const ProgramResult result = run.shell(
      "$TRAINER -n 2 --mesh 2x1 --restarts 3 --threads 1 --engine native --walltime 00:00:09 a.yaml -q -s "
      "train.evaluate=never "
      "-s train.steps=1000000000");
  INFO(result.err);
  CHECK(result.code == 130);
  CHECK(
      result.err.find(
          "resume with: trainer -n 2 --mesh 2x1 --threads 1 --engine native --restarts 3 --walltime 00:00:09 "
          "runs/a\n") != std::string::npos);
}

TEST_CASE("checkpoints come by the clock, and as many stay as was asked for", "[resume]") {
  const SmallRun run;
  const int ranks = GENERATE(1, 3);
  REQUIRE(run.trainer({"a.yaml", "-q", "--datapar", "-s", "train.steps=20", "-s", "train.evaluate=never",
                       "-s", "train.checkpoint={minutes: 1.0e-9, keep: 3}"},
                      ranks)
              .code == 0);
  int count = 0;
  for (const auto& entry : fs::directory_iterator(run.path("runs/a/checkpoints"))) {
    const std::string name = entry.path().filename().string();
    CHECK((name == "last" || name.starts_with("step-")));
    count += name.starts_with("step-") ? 1 : 0;
  }
  CHECK(count == 3);
  CHECK(run.trainer({"eval", "runs/a"}).code == 0);
}

TEST_CASE("a run directory that is removed ends the run with a clear error", "[resume]") {
  const SmallRun run;
  const std::string checkpoint = GENERATE("{minutes: 0.001}", "never");
  const ProgramResult result = run.shell(
      "$TRAINER a.yaml -q -s train.steps=1000000000 -s train.evaluate=never -s 'train.checkpoint=" +
      checkpoint +
      "' & run=$!; until [ -s runs/a/metrics.jsonl ]; do sleep 0.02; done; mv runs/a gone; rm -r gone; wait "
      "$run");
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(result.err.find("error: ") == 0);
  CHECK(result.err.find("runs/a") != std::string::npos);
  CHECK_FALSE(fs::exists(run.path("runs/a")));
}

TEST_CASE("on a read-only disk a finished run reports that it is finished, and another does not begin",
          "[resume]") {
  const SmallRun run;
  const std::string frozen = "unshare -m sh -c 'mount --bind runs runs && mount -o remount,ro,bind runs && ";
  if (run.shell("mkdir runs && " + frozen + "true'").code != 0) return;  // only root may
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const ProgramResult finished = run.shell(frozen + "$TRAINER runs/a'");
  CHECK(finished.err.empty());
  CHECK(finished.code == 0);
  CHECK(finished.out == "runs/a is finished: 5 of 5 steps are done   use: trainer eval runs/a\n");
  const ProgramResult longer = run.shell(frozen + "$TRAINER runs/a -s train.epochs=2'");
  CHECK(longer.code == 1);
  CHECK(longer.err == "error: cannot write runs/a/command.txt: Read-only file system\n");
}

TEST_CASE("ranks that do not see the run directory leave the writing to rank 0, and continue", "[resume]") {
  const SmallRun run;
  const std::string alone = "unshare -m sh -c 'mount -t tmpfs none runs && ";
  if (run.shell("mkdir runs && " + alone + "true'").code != 0) return;  // only root may
  write_text(run.path("start.sh"), "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 0 ] || exec " + alone +
                                       "exec \"$@\"' sh $TRAINER \"$@\"\nexec $TRAINER \"$@\"\n");
  const std::string start = "$MPIRUN -n 3 sh start.sh --datapar ";
  const ProgramResult first = run.shell(start + "a.yaml");
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK(run.shell(start + "runs/a -s train.epochs=3").code == 0);
  REQUIRE(run.trainer({"a.yaml", "--datapar", "-o", "whole", "-s", "train.epochs=3"}, 3).code == 0);
  CHECK(read_text(run.path("runs/a") / kWeights) == read_text(run.path("whole") / kWeights));
  CHECK(timeless(run.path("runs/a")) == timeless(run.path("whole")));
}

}  // namespace trainer
