// Searches start their trials as processes, and resume after any end with the same result.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"
#include "tests/support/skip.h"

namespace trainer {
namespace {

const std::vector<std::string> kSweep{"sweep",    "a.yaml",
                                      "-s",       "train.optimizer.sgd.lr=log(1e-2,1)",
                                      "-s",       "model.layers[0].dense.units=[4,8]",
                                      "--trials", "4",
                                      "-s",       "train.epochs=9",
                                      "-s",       "train.exact=true"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += " '" + word + "'";
  return line;
}

}  // namespace

TEST_CASE("a sweep gives the same table alone, two at a time and on two ranks a trial", "[search]") {
  const SmallRun run;
  const ProgramResult one = run.trainer(with(kSweep, {"-o", "one"}));
  INFO(one.out << one.err);
  REQUIRE(one.code == 0);
  CHECK(one.out.find("best  trial ") != std::string::npos);
  CHECK(one.out.find("trainer a.yaml -s train.epochs=9") != std::string::npos);
  REQUIRE(run.trainer(with(kSweep, {"-o", "two", "--jobs", "2"})).code == 0);
  REQUIRE(run.trainer(with(kSweep, {"-o", "ranks", "-n", "2", "--datapar"})).code == 0);
  const std::string table = read_text(run.path("one/trials.csv"));
  CHECK(occurrences(table, "\n") == 5);
  CHECK(read_text(run.path("two/trials.csv")) == table);
  CHECK(read_text(run.path("ranks/trials.csv")) == table);
  const ProgramResult sharded =
      run.trainer(with(kSweep, {"-o", "sharded", "-n", "2", "--datapar", "--shard", "parameters"}));
  INFO(sharded.err);
  REQUIRE(sharded.code == 0);
  CHECK(read_text(run.path("sharded/trials.csv")) == table);
  CHECK(std::filesystem::exists(run.path("one/report.html")));
  CHECK(run.trainer({"eval", "one/trials/001"}).code == 0);
}

TEST_CASE("a sweep that was killed or interrupted resumes and ends with the table of one that was not",
          "[search]") {
  const SmallRun run;
  REQUIRE(run.trainer(with(kSweep, {"-o", "whole"})).code == 0);
  const std::string until = "until [ -e cut/trials/002/checkpoints/last ]; do sleep 0.01; done; ";
  const ProgramResult killed =
      run.shell("$TRAINER" + quoted(with(kSweep, {"-o", "cut", "-s", "train.log_every=1"})) +
                " > out & run=$!; " + until + "kill -KILL $run; wait $run; $TRAINER sweep cut --jobs 2 -q");
  INFO(killed.out << killed.err);
  CHECK(killed.code == 0);
  CHECK(read_text(run.path("cut/trials.csv")) == read_text(run.path("whole/trials.csv")));

  const ProgramResult stopped =
      run.shell("$TRAINER" + quoted(with(kSweep, {"-o", "int", "-s", "train.epochs=100000"})) +
                " > out & run=$!; until [ -e int/trials/001/checkpoints/last ]; do sleep 0.01; done; "
                "kill -INT $run; wait $run");
  INFO(stopped.err);
  CHECK(stopped.code == 130);
  CHECK(
      stopped.err.find("stopped: 0 of 4 trials have a result; saved int\nresume with: trainer sweep int\n") !=
      std::string::npos);
  CHECK(read_text(run.path("int/logs/001.txt")).find("stopped after step") != std::string::npos);
  CHECK(run.trainer({"sweep", "int", "-s", "train.epochs=1"}).code == 2);
}

TEST_CASE("a reader of the output that goes away stops a search, which resumes", "[search]") {
  const SmallRun run;
  const std::vector<std::string> words =
      GENERATE(std::vector<std::string>{"sweep", "a.yaml", "-s", "train.batch=[4,8]"},
               std::vector<std::string>{"cv", "a.yaml", "-k", "2"});
  const ProgramResult result =
      run.shell("{ $TRAINER" + quoted(with(words, {"-o", "s", "-s", "train.epochs=50"})) +
                " 2> err; echo $? > code; } | head -n 1");
  const std::string messages = read_text(run.path("err"));
  INFO(messages);
  CHECK(read_text(run.path("code")) == "130\n");
  CHECK(messages.find("stopped: 1 of 2 trials have a result; saved s\nresume with: trainer " + words.front() +
                      " s\n") != std::string::npos);
  CHECK(run.trainer({words.front(), "s"}).code == 0);
}

TEST_CASE("successive halving ends with the trial that a whole run gives, and pauses the others",
          "[search]") {
  const SmallRun run;
  REQUIRE(run.trainer(with(kSweep, {"-o", "whole"})).code == 0);
  const ProgramResult halving = run.trainer(with(kSweep, {"-o", "half", "--method", "halving"}));
  INFO(halving.out << halving.err);
  REQUIRE(halving.code == 0);
  const std::string table = read_text(run.path("half/trials.csv"));
  const std::string best =
      table.substr(table.find('\n') + 1, table.find('\n', table.find('\n') + 1) - table.find('\n'));
  CHECK(read_text(run.path("whole/trials.csv")).find(best) != std::string::npos);
  CHECK(occurrences(table, ",130,0.333333,3,") == 3);
}

TEST_CASE("halving that was stopped in a rung repeats what has not reached its end", "[search]") {
  const SmallRun run;
  const std::vector<std::string> halving =
      with(kSweep, {"--method", "halving", "-s", "train.epochs=90", "-s", "train.evaluate.epochs=10", "-s",
                    "train.checkpoint.epochs=10"});
  REQUIRE(run.trainer(with(halving, {"-o", "whole"})).code == 0);
  const ProgramResult stopped =
      run.shell("$TRAINER" + quoted(with(halving, {"-o", "cut", "--jobs", "2"})) +
                " > out & run=$!; until [ -e cut/trials/002/checkpoints/last ]; do sleep 0.01; done; "
                "kill -TERM $run; wait $run");
  CHECK(stopped.code == 130);
  REQUIRE(run.trainer({"sweep", "cut"}).code == 0);
  CHECK(read_text(run.path("cut/trials.csv")) == read_text(run.path("whole/trials.csv")));
}

TEST_CASE("a trial that fails is recorded and does not end the sweep", "[search]") {
  const SmallRun run;
  const ProgramResult result =
      run.trainer({"sweep", "a.yaml", "-s", "train.optimizer.sgd.lr=[1e30,0.1]", "-s", "train.epochs=3"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out.find("failed with code 5: loss is NaN") != std::string::npos);
  CHECK(result.out.find("best  trial 2") != std::string::npos);
  const ProgramResult all = run.trainer(
      {"sweep", "a.yaml", "-s", "train.optimizer.sgd.lr=[1e30,1e31]", "-s", "train.epochs=3", "-o", "all"});
  CHECK(all.code == 5);
  CHECK(all.err.find("no trial succeeded; the first one: loss is NaN") != std::string::npos);
}

TEST_CASE("a plan of a search without its spaces is damaged, and a report made inside has a name",
          "[search]") {
  const SmallRun run;
  const std::string path = "data.path=" + run.path("set").string();
  REQUIRE(run.trainer({"sweep", "a.yaml", "-s", path, "-s", "train.batch=[4,8]", "-o", "here"}).code == 0);
  REQUIRE(run.shell("cd here && $TRAINER sweep . -q").code == 0);
  CHECK(read_text(run.path("here/report.html")).find("<h1>here</h1>") != std::string::npos);
  const std::string plan = read_text(run.path("here/plan.json"));
  const std::size_t begin = plan.find("\"spaces\": [") + 11;
  write_text(run.path("here/plan.json"),
             std::string(plan).replace(begin, plan.find("\n ]", begin) - begin, ""));
  const ProgramResult damaged = run.trainer({"sweep", "here"});
  CHECK(damaged.code == 2);
  CHECK(damaged.err.find("error: here/plan.json is damaged") == 0);
}

TEST_CASE("a search prints its table where a file of its directory cannot be written", "[search]") {
  const SmallRun run;
  const auto [words, last] = GENERATE(table<std::vector<std::string>, std::string>(
      {{{"sweep", "a.yaml", "-s", "train.batch=[4,8]"}, "best  trial "},
       {{"cv", "a.yaml", "-k", "2"}, "deviation"}}));
  const std::string file = GENERATE("trials.csv", "report.html");
  INFO(words.front() << ' ' << file);
  REQUIRE(run.trainer(with(words, {"-q", "-o", "s"})).code == 0);
  std::filesystem::remove(run.path("s") / file);
  std::filesystem::create_directory(run.path("s") / file);
  const ProgramResult result = run.trainer({words.front(), "s", "-q"});
  INFO(result.out << result.err);
  CHECK(result.code == 1);
  CHECK(occurrences(result.out, "\n") > 3);
  CHECK(result.out.find(last) != std::string::npos);
  CHECK(result.out.find("saved ") == std::string::npos);
  CHECK(result.err.find("cannot write s/" + file) != std::string::npos);
}

TEST_CASE("a search that the disk has no space for leaves nothing of its directory", "[search]") {
  const SmallRun run;
  const std::string words = GENERATE("sweep ../a.yaml -s train.batch=[4,8]", "cv ../a.yaml -k 2");
  const std::string out = GENERATE("", " -o new/below", " -o empty");
  const std::string size = GENERATE("4k", "8k");
  const std::string disk =
      "mkdir -p disk && unshare -m sh -c 'mount -t tmpfs -o size=" + size + " tmpfs disk && cd disk && ";
  if (run.shell(disk + "true'").code != 0) skip_test("no small disk can be mounted here");
  const ProgramResult result = run.shell(disk + "mkdir empty && $TRAINER " + words + " -s data.path=../set" +
                                         out + "; code=$?; find . -mindepth 1; exit $code'");
  INFO(words << out << ' ' << size << '\n' << result.out << result.err);
  CHECK(result.code == 1);
  CHECK(result.err.find("No space left on device") != std::string::npos);
  CHECK(result.out == "./empty\n");
}

TEST_CASE("a mistake in a space, a config or a flag is found before there is a directory", "[search]") {
  const SmallRun run;
  const auto error = [&](const std::vector<std::string>& flags, int code = 2) {
    const ProgramResult result = run.trainer(with({"sweep", "a.yaml"}, flags));
    INFO(result.out << result.err);
    CHECK(result.code == code);
    return result.err;
  };
  CHECK(error({}).find("a sweep needs a key with several values") != std::string::npos);
  CHECK(run.trainer({"sweep", "sweeps/b"}).err.find("cannot read `sweeps/b`") != std::string::npos);
  const std::string paused = error({"-s", "train.batch=[2,4,8,16]", "--method", "halving", "--trials", "9",
                                    "-s", "train.checkpoint=never"});
  CHECK(paused.find("-s train.checkpoint=epoch") != std::string::npos);
  CHECK(error({"-s", "train.lrr=[1,2]"}).find("unknown key `lrr`") != std::string::npos);
  CHECK(error({"-s", "train.batch=[4,8]", "-s", "train.evaluate=never"})
            .find("trials are compared by their evaluations") != std::string::npos);
  CHECK(error({"-s", "train.batch=[4,8]", "--trials", "3", "--method", "grid"}).find("remove --trials") !=
        std::string::npos);
  CHECK(error({"-s", "train.batch=[4,8]", "-s", "data.path=/nowhere"}, 3).find("dataset file not found") !=
        std::string::npos);
  CHECK(error({"-s", "train.batch=[4,8]", "-n", "2"}, 4).find("trainer -n 2 sweep --datapar a.yaml") !=
        std::string::npos);
  CHECK_FALSE(std::filesystem::exists(run.path("sweeps")));
}

TEST_CASE("cross-validation trains each fold and seed, and gives one table however it ran", "[search]") {
  const SmallRun run;
  const std::vector<std::string> cv{"cv", "a.yaml",        "-k", "3",  "--seeds",
                                    "2",  "--trials",      "2",  "-s", "train.exact=true",
                                    "-s", "train.epochs=6"};
  CHECK(run.trainer(cv).code == 2);  // --trials is of sweep
  std::vector<std::string> words = cv;
  words.erase(words.begin() + 6, words.begin() + 8);
  const ProgramResult one = run.trainer(words);
  INFO(one.out << one.err);
  REQUIRE(one.code == 0);
  const std::string table = read_text(run.path("cv/a/trials.csv"));
  CHECK(occurrences(table, "\n") == 7);
  CHECK(table.find("trial,train.seed,data.fold,code,share,epochs,best_epoch,valid/loss,valid/accuracy") == 0);
  CHECK(occurrences(read_text(run.path("cv/a/summary.csv")), ",6\n") == 2);
  CHECK(one.out.find("\n mean ") != std::string::npos);
  const ProgramResult compared = run.trainer({"compare", "cv/a"});
  CHECK(occurrences(compared.out.substr(0, compared.out.find("\n\n")), "\ncv/a/trials/00") == 6);
  CHECK(run.trainer({"eval", "cv/a/"}).err.find("help: one of its runs, such as cv/a/trials/001\n") !=
        std::string::npos);

  const ProgramResult killed = run.shell(
      "$TRAINER" + quoted(with(words, {"-o", "cut"})) +
      " > out & run=$!; until [ -e cut/trials/003/checkpoints/last ]; do sleep 0.01; done; kill -KILL $run; "
      "wait $run; $TRAINER cv cut -q -n 2 --datapar");
  INFO(killed.out << killed.err);
  CHECK(killed.code == 0);
  CHECK(read_text(run.path("cut/trials.csv")) == table);
  CHECK(read_text(run.path("cut/summary.csv")) == read_text(run.path("cv/a/summary.csv")));
  CHECK(run.trainer({"sweep", "cut"}).err.find("help: trainer cv cut") != std::string::npos);
}

TEST_CASE("seeds of cross-validation that do not exist are a mistake", "[search]") {
  const SmallRun run;
  CHECK(run.trainer({"cv", "a.yaml", "-k", "2", "-s", "train.seed=9223372036854775807"}).code == 2);
  CHECK(run.trainer({"cv", "a.yaml", "-k", "100000", "--seeds", "100000"}).code == 2);
}

TEST_CASE("more folds than samples are refused at once, before there is a directory", "[search]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"cv", "a.yaml", "-k", "100000"}, 1, 20);
  INFO(result.out << result.err);
  CHECK_FALSE(result.timed_out);
  CHECK(result.code == 2);
  CHECK(result.err.find("error: 40 samples cannot make 100000 folds") == 0);
  CHECK(result.err.find("help: at most 40") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(run.path("cv")));
}

TEST_CASE("a fold that fails makes the code of cross-validation, and the others make the mean", "[search]") {
  const SmallRun run;
  const ProgramResult all = run.trainer({"cv", "a.yaml", "-k", "2", "-s", "train.optimizer.sgd.lr=1e30"});
  CHECK(all.code == 5);
  CHECK(run.trainer({"cv", "a.yaml", "-k", "100"}).err.find("40 samples cannot make 100 folds") !=
        std::string::npos);
}

TEST_CASE("a range test prints the same and draws the same curve on every placement, and leaves no run",
          "[search]") {
  const SmallRun run;
  const std::vector<std::string> find{
      "lr-find", "a.yaml",        "--from", "1e-4", "-s", "data={dataset: digits, fraction: 0.05}",
      "-s",      "train.batch=64"};
  const ProgramResult one = run.trainer(with(find, {"--svg", "one.svg"}));
  INFO(one.out << one.err);
  REQUIRE(one.code == 0);
  CHECK(one.out.find("suggested     lr ") != std::string::npos);
  CHECK(one.out.find("-s train.optimizer.sgd.lr=") != std::string::npos);
  const ProgramResult two = run.trainer(with(find, {"--svg", "one.svg", "--datapar"}), 2);
  CHECK(two.out == one.out);
  REQUIRE(run.trainer(with(find, {"--svg", "two.svg", "--threads", "3"})).code == 0);
  for (const char* const shard : {"gradients", "parameters"}) {
    INFO(shard);
    const ProgramResult sharded =
        run.trainer(with(find, {"--svg", "sharded.svg", "--datapar", "--shard", shard}), 2);
    INFO(sharded.err);
    REQUIRE(sharded.code == 0);
    CHECK(read_text(run.path("sharded.svg")) == read_text(run.path("one.svg")));
  }
  CHECK(read_text(run.path("two.svg")) == read_text(run.path("one.svg")));
  CHECK_FALSE(std::filesystem::exists(run.path("runs")));
  const ProgramResult nan = run.trainer({"lr-find", "a.yaml", "--to", "1e35"});
  CHECK(nan.code == 0);
  CHECK(nan.out.find("stopped after step ") != std::string::npos);
  CHECK(run.trainer({"lr-find", "a.yaml", "--from", "1", "--to", "1"}).code == 2);
  CHECK(run.trainer({"lr-find", "a.yaml", "-s", "train.compression=one_bit"}).code == 0);
}

}  // namespace trainer
