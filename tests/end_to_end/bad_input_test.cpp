// Every bad input ends with its exit code, one clear message for each mistake and nothing half-written, on
// one rank and on four, within seconds.
#include <catch2/catch.hpp>
#include <functional>

#include "tests/end_to_end/small_run.h"
#include "tests/support/skip.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr double kSeconds = 5;

struct BadInput {
  std::string name;
  int code = 0;
  std::string message;  ///< must occur
  std::function<void(const SmallRun&)> prepare;
  std::vector<std::string> words = {};
  int mistakes = 1;
  bool begins = false;  ///< training does, so that the run directory may stay
  int least_ranks = 1;
};

/// The small run with a piece of its YAML replaced.
std::function<void(const SmallRun&)> with(const std::string& from, const std::string& to) {
  return [=](const SmallRun& run) { write_text(run.path("a.yaml"), replaced(kSmallRun, from, to)); };
}

std::function<void(const SmallRun&)> yaml(const std::string& text) {
  return [=](const SmallRun& run) { write_text(run.path("a.yaml"), text); };
}

std::function<void(const SmallRun&)> file(const std::string& name, const std::string& bytes) {
  return [=](const SmallRun& run) { write_text(run.path("set") / name, bytes); };
}

std::string alias_bomb() {
  std::string text = "x-0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";
  for (int level = 1; level < 10; ++level) {
    const std::string below = "*a" + std::to_string(level - 1);
    text += "x-" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + below;
    for (int i = 1; i < 10; ++i) text += ", " + below;
    text += "]\n";
  }
  return text + kSmallRun;
}

std::string deep_nesting() {
  constexpr std::size_t kDepth = 20'000;
  return "x-deep: " + std::string(kDepth, '[') + std::string(kDepth, ']') + "\n" + kSmallRun;
}

/// The small run on another set, of which one file is this.
std::function<void(const SmallRun&)> set(const std::string& dataset, const std::string& name,
                                         const std::string& bytes) {
  return [=](const SmallRun& run) {
    with("dataset: mnist", "dataset: " + dataset)(run);
    write_text(run.path("set") / name, bytes);
  };
}

/// An array of Python's objects, as numpy would save it.
std::string object_array() {
  const std::string header = "{'descr': '|O', 'fortran_order': False, 'shape': (4,), }\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header + "objects";
}

const std::string kImages = "train-images-idx3-ubyte", kLabels = "train-labels-idx1-ubyte";
constexpr std::size_t kPixels = 28 * 28;

std::vector<BadInput> bad_inputs() {
  const std::vector<std::string> on_damaged_weights{"--init", "damaged.safetensors"};
  return {
      {"unknown key", 2, "did you mean `units`", with("units: 8", "unit: 8")},
      {"two mistakes", 2, "unknown key", with("units: 8", "unit: 8, activaton: relu"), {}, 2},
      {"missing key", 2, "loss", with("  loss: softmax_cross_entropy\n", "")},
      {"duplicate key", 2, "epochs", with("  epochs: 1\n", "  epochs: 1\n  epochs: 2\n")},
      {"wrong type", 2, "`lr` expects a number", with("lr: 0.1", "lr: O.1")},
      {"out of range", 2, "momentum", with("lr: 0.1", "lr: 0.1, momentum: 1.5")},
      {"bad override", 2, "-s train.optimizer.sgd.lr=x", nullptr, {"-s", "train.optimizer.sgd.lr=x"}},
      {"alias bomb", 2, "alias", yaml(alias_bomb())},
      {"deep nesting", 2, "deep", yaml(deep_nesting())},
      {"empty file", 2, "a.yaml", yaml("")},
      {"binary file", 2, "a.yaml", yaml(idx_bytes({100}, 100, 256))},
      {"no such config",
       2,
       "nope.yaml",
       [](const SmallRun& run) { fs::rename(run.path("a.yaml"), run.path("b.yaml")); },
       {}},
      {"layer that does not fit", 2, "does not fit",
       with("    - dense: {units: 8", "    - conv: {filters: 2, kernel: 29}\n    - dense: {units: 8")},
      {"a batch beyond all memory", 2, "`batch`", with("batch: 8", "batch: 4611686018427387904")},
      {"a batch of which a row too many overflows", 2, "`batch`",
       with("batch: 8", "batch: 9223372036854775807")},
      {"no units", 2, "units", with("units: 8", "units: 0")},
      {"no output for each pixel", 2, "a label for each of 784 positions; the model gives 10",
       with("dataset: mnist, path: set", "dataset: {digits: {labels: pixels}}")},
      {"loss that does not fit", 2, "10", with("dense: 10", "dense: 9")},
      {"missing data", 3, "dataset file not found", with("path: set", "path: elsewhere")},
      {"missing file of a set", 3, kLabels,
       [](const SmallRun& run) { fs::remove(run.path("set") / kLabels); }},
      {"truncated IDX", 3, "truncated", file(kImages, idx_bytes({40, 28, 28}, 40 * kPixels - 1, 256))},
      {"oversized IDX", 3, "too long", file(kImages, idx_bytes({40, 28, 28}, 40 * kPixels + 1, 256))},
      {"labels for images", 3, kImages, file(kImages, idx_bytes({40}, 40, 10))},
      {"fewer labels than images", 3, "39", file(kLabels, idx_bytes({39}, 39, 10))},
      {"label out of range", 3, "label", file(kLabels, idx_bytes({40}, 40, 256))},
      {"IDX that lies about its size", 3, kImages,
       file(kImages, idx_bytes({0xFFFFFFFF, 0xFFFFFFFF, 28}, 100, 256))},
      {"corrupt gz", 3, kImages,
       [](const SmallRun& run) {
         fs::remove(run.path("set") / kImages);
         write_text(run.path("set") / (kImages + ".gz"), "\x1f\x8b\x08" + std::string(500, '\x55'));
       }},
      {"CSV with a short row", 3, "bad.csv:3",
       set("{csv: {train: bad.csv, target: 3}}", "bad.csv", "1,2,a\n3,4,b\n5,b\n")},
      {"npy of objects", 3, "bad.npy",
       set("{npy: {train_inputs: bad.npy, train_targets: bad.npy}}", "bad.npy", object_array())},
      {"npz that is cut off", 3, "not a zip archive",
       set("{npz: {file: bad.npz, train_inputs: x, train_targets: y}}", "bad.npz", "PK\x03\x04 and no list")},
      {"text that is not UTF-8", 3, "bad.txt:2:4",
       set("{text: {file: bad.txt, tokens: characters, sequence: 2}}", "bad.txt", "one\ntwo\xff\nthree\n")},
      {"CIFAR-10 batch of another size", 3, "not a CIFAR-10 batch",
       set("cifar10", "data_batch_1.bin", std::string(3072, 'x'))},
      {"an image folder of no images", 3, "a class without images",
       [](const SmallRun& run) {
         with("dataset: mnist", "dataset: {image_folder: {size: 28}}")(run);
         fs::create_directories(run.path("set") / "train" / "cat");
       }},
      {"run directory below a file", 2, "cannot create the run directory", nullptr, {"-o", "a.yaml/run"}},
      {"run directory that is not empty", 2, "not empty", nullptr, {"-o", "set"}},
      {"runs is a file", 2, "cannot create the run directory",
       [](const SmallRun& run) { write_text(run.path("runs"), "mine"); }},
      {"a metric twice", 2, "accuracy is listed twice", with("[accuracy]", "[accuracy, accuracy]")},
      {"neither epochs nor steps", 2, "missing key `epochs` or `steps` in train", with("  epochs: 1\n", "")},
      {"wrong word",
       2,
       "`evaluate` expects a map of steps and epochs, `epoch`, `end` or `never`",
       nullptr,
       {"-s", "train.evaluate=sometimes"}},
      {"weights in a directory", 6, "checkpoints/best/model.safetensors", nullptr, {"--init", "set"}},
      {"no such weights", 6, "nope.safetensors", nullptr, {"--init", "nope.safetensors"}},
      {"damaged weights", 6, "damaged.safetensors",
       [](const SmallRun& run) { write_text(run.path("damaged.safetensors"), "not weights at all"); },
       on_damaged_weights},
      {"NaN", 5, "loss is", with("lr: 0.1", "lr: 1.0e30"), {}, 1, true},
      {"batch smaller than the data ranks", 4, "batch", with("batch: 8", "batch: 3"), {}, 1, false, 4},
      {"local with an average of all steps", 2, "train.local has them once a round",
       with("batch: 8", "batch: 8\n  ema: 0.9\n  local: {steps: 2}")},
      {"local with micro-batches", 2, "virtual workers of train.local compute their shares",
       with("batch: 8", "batch: 8\n  accumulate: 2\n  local: {steps: 2}")},
      {"local with the virtual workers of exact mode", 2, "train.local has virtual workers of its own",
       with("batch: 8", "batch: 8\n  exact: true\n  virtual_workers: 4\n  local: {steps: 2}")},
      {"fewer samples than virtual workers", 2, "too small for 9 virtual workers",
       with("batch: 8", "batch: 8\n  local: {steps: 2, virtual_workers: 9}")},
      {"one row for batch_norm of a virtual worker", 2, "a share of a batch has 1",
       yaml(replaced(replaced(kSmallRun, "    - dense: 10", "    - batch_norm\n    - dense: 10"), "batch: 8",
                     "batch: 8\n  local: {steps: 2}"))},
      {"fewer virtual workers than ranks",
       4,
       "2 virtual workers cannot be distributed over 4 data ranks",
       with("batch: 8", "batch: 8\n  local: {steps: 2, virtual_workers: 2}"),
       {},
       1,
       false,
       4},
      {"wrong mesh", 4, "do not make a 3x2 mesh", nullptr, {"--mesh", "3x2"}, 1, false, 4},
  };
}

void check(const BadInput& input, int ranks) {
  const SmallRun run;
  if (input.prepare) input.prepare(run);
  std::vector<std::string> words{input.name == "no such config" ? "nope.yaml" : "a.yaml", "--datapar"};
  words.insert(words.end(), input.words.begin(), input.words.end());
  ProgramResult result = run.trainer(words, ranks);
  // A machine with other work may be slow once.
  if (result.seconds > kSeconds && !input.begins) result = run.trainer(words, ranks);
  INFO(result.err);
  CHECK_FALSE(result.timed_out);
  CHECK(result.code == input.code);
  CHECK(result.err.find(input.message) != std::string::npos);
  CHECK(occurrences("\n" + result.err, "\nerror: ") == input.mistakes);
  CHECK(result.seconds < kSeconds);
  if (!input.begins) {
    CHECK_FALSE(fs::is_directory(run.path("runs")));
    CHECK(result.out.empty());
  }
  for (const auto& entry : fs::recursive_directory_iterator(run.path("")))
    CHECK(entry.path().string().find(".partial") == std::string::npos);
}

/// A disk of so many KiB on "disk", as only this process and what it starts see it. False where the system
/// does not allow it.
const std::string kSmallDisk =
    "mkdir -p disk && unshare -m sh -c 'mount -t tmpfs -o size=100k tmpfs disk && ";

bool has_small_disks(const SmallRun& run) { return run.shell(kSmallDisk + "true'").code == 0; }

}  // namespace

TEST_CASE("bad input is reported once, with its exit code, and leaves nothing behind", "[bad-input]") {
  const int ranks = GENERATE(1, 4);
  for (const BadInput& input : bad_inputs()) {
    if (ranks < input.least_ranks) continue;
    DYNAMIC_SECTION(input.name << " on " << ranks) { check(input, ranks); }
  }
}

TEST_CASE("several processes without a mode get the right command", "[bad-input]") {
  const SmallRun run;
  const ProgramResult direct = run.trainer({"a.yaml"}, 4);
  CHECK(direct.code == 4);
  CHECK(direct.err ==
        "error: 4 processes were started without --datapar or --modelpar\n"
        "help: trainer -n 4 --datapar a.yaml\n");
  const ProgramResult launched = run.shell("$MPIRUN -n 4 $TRAINER a.yaml");
  CHECK(launched.code == 4);
  CHECK(launched.err ==
        "error: 4 processes were started without --datapar or --modelpar\n"
        "help: mpirun -n 4 trainer --datapar a.yaml\n");
  CHECK_FALSE(fs::exists(run.path("runs")));
}

TEST_CASE("one rank that fails before training ends all, and is named", "[bad-input]") {
  const SmallRun run;
  write_text(run.path("start.sh"),
             "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 3 ] && set -- \"$@\" -s data.path=elsewhere\n"
             "exec $TRAINER \"$@\"\n");
  const ProgramResult result = run.shell("$MPIRUN -n 4 sh start.sh --datapar a.yaml");
  INFO(result.err);
  CHECK(result.code == 3);
  CHECK(result.err.find("rank 3: error: dataset file not found") == 0);
  CHECK(occurrences(result.err, "error: ") == 1);
  CHECK(result.seconds < kSeconds);
  CHECK_FALSE(fs::exists(run.path("runs")));
}

TEST_CASE("a rank that fails in the middle of training ends all, with its message once", "[bad-input]") {
  const SmallRun run;
  const std::string launcher = GENERATE("$FAILING_TRAINER -n 3", "$MPIRUN -n 3 $FAILING_TRAINER");
  const ProgramResult result = run.shell(
      launcher +
      " a.yaml --datapar -s 'data={dataset: {failing: {rank: 2, after: 60}}}' -s train.epochs=1000");
  INFO(result.out);
  CHECK(result.code == 1);
  CHECK(result.err == "rank 2: error: the sample cannot be read\n");
  CHECK(result.seconds < kSeconds);
  // It was in the middle of training: an epoch had ended.
  CHECK(occurrences(result.out, " 1/1000 ") == 1);
}

TEST_CASE("weights of another network are reported by name and shape", "[bad-input]") {
  const int ranks = GENERATE(1, 4);
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=0", "-o", "first"}).code == 0);
  write_text(run.path("a.yaml"), replaced(replaced(kSmallRun, "units: 8", "units: 9"), "dense: 10",
                                          "dense: {units: 10, name: out}"));
  const ProgramResult result =
      run.trainer({"a.yaml", "--datapar", "--init", "first/checkpoints/last/model.safetensors"}, ranks);
  INFO(result.err);
  CHECK(result.code == 6);
  CHECK(result.err.find("dense1.weight") != std::string::npos);
  CHECK(result.err.find("out.weight") != std::string::npos);
  CHECK_FALSE(fs::exists(run.path("runs")));
}

TEST_CASE("more processes than a batch has samples are refused before any is started", "[bad-input]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"-n", "1000", "--datapar", "a.yaml"}, 1, 10);
  CHECK(result.code == 4);
  CHECK(result.err.find("a batch of 8 samples is too small for 1000 data ranks\n  --> a.yaml:") !=
        std::string::npos);
}

TEST_CASE("output that cannot be written is an error", "[bad-input]") {
  const SmallRun run;
  const ProgramResult result = run.shell("$TRAINER config a.yaml > /dev/full");
  CHECK(result.code == 1);
  CHECK(result.err == "error: cannot write standard output\n");
}

TEST_CASE("results that cannot be written end with the same code alone and under the launcher",
          "[bad-input]") {
  const SmallRun run;
  const std::string ranks = GENERATE("", "-n 2 --datapar"), target = GENERATE(">/dev/full", ">&-");
  const ProgramResult result = run.shell("$TRAINER a.yaml " + ranks + " " + target);
  INFO(ranks << target);
  CHECK(result.code == 1);
  CHECK(result.err == "error: cannot write standard output\n");
  CHECK(fs::exists(run.path("runs/a/checkpoints/last")));
}

TEST_CASE("messages that cannot be written change nothing", "[bad-input]") {
  const SmallRun run;
  const std::string target = GENERATE("2>/dev/full", "2>&-");
  CHECK(run.shell("$TRAINER a.yaml --threads 64 -s data.fraction=0.5 " + target).code == 0);  // warns
  CHECK(run.shell("$TRAINER b.yaml " + target).code == 2);
  CHECK(run.shell("$TRAINER -n 2 a.yaml " + target).code == 4);
}

TEST_CASE("files of a run never take the place of closed standard streams", "[bad-input]") {
  const SmallRun run;
  const ProgramResult result = run.shell("$TRAINER a.yaml <&- >&- 2>&-");
  CHECK(result.code == 1);
  const std::string results = read_text(run.path("runs/a/results.csv"));
  CHECK(results.find("epoch,time,") == 0);
  CHECK(occurrences(results, "\n") == 2);
}

TEST_CASE("low limits of the system end with a clear error, or do no harm", "[bad-input]") {
  const SmallRun run;
  const ProgramResult stack = run.shell("ulimit -s 200; $TRAINER a.yaml", 20);
  CHECK(stack.code == 1);
  CHECK(stack.err.find("error: the stack is limited to 200 KiB, and ") == 0);
  CHECK(stack.err.find("help: ulimit -s ") != std::string::npos);
  CHECK(run.shell("ulimit -S -s 200; $TRAINER a.yaml --threads 2", 20).code == 0);
  // Sanitizers need more address space than there is memory.
  if (is_built_with("address") || is_built_with("thread")) return;
  const std::string engine = GENERATE(std::string("native"), std::string("openblas"));
  for (const char* limit : {"100000", "150000", "200000"}) {
    const ProgramResult memory =
        run.shell(std::string("ulimit -v ") + limit + "; $TRAINER a.yaml --engine " + engine, 20);
    INFO(engine << " " << limit << " " << memory.err);
    CHECK_FALSE(memory.timed_out);
    // Where the libraries of MPICH do not fit, the dynamic linker reports it before the program begins.
    const bool is_of_linker = memory.code == 127 && (memory.err.find("shared librar") != std::string::npos ||
                                                     memory.err.find("cannot allocate TLS") == 0);
    CHECK((memory.code == 0 || is_of_linker || (memory.code == 1 && memory.err.find("error: ") == 0)));
  }
}

TEST_CASE("a limit of the data segment hangs no run: it ends, or reports why not", "[bad-input]") {
  if (is_built_with("address") || is_built_with("thread")) return;
  const SmallRun run;
  const std::string ranks = GENERATE(std::string(), std::string("-n 2 --datapar "));
  for (const char* limit : {"20000", "60000", "100000", "200000"}) {
    const ProgramResult result =
        run.shell("ulimit -d " + std::string(limit) + "; $TRAINER " + ranks + "a.yaml", 20);
    INFO(ranks << limit << " " << result.err);
    CHECK_FALSE(result.timed_out);
    CHECK((result.code == 0 || !result.err.empty()));
    // Libraries of MPI, and the dynamic linker (127), have messages and exit codes of their own.
    if (ranks.empty() && result.code != 127)
      CHECK((result.code == 0 || (result.code == 1 && result.err.find("error: ") != std::string::npos)));
  }
}

TEST_CASE("a limit on the size of files is an error like a full disk", "[bad-input]") {
  const SmallRun run;
  const ProgramResult result =
      run.shell("ulimit -f 8; $TRAINER a.yaml -o run -s model.layers[0].dense.units=500");
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(result.err.find("error: cannot write run/checkpoints/") == 0);
  CHECK(result.err.find("File too large") != std::string::npos);
}

TEST_CASE("a full disk ends all ranks with its reason, and no file is half-written", "[full-disk]") {
  const SmallRun run;
  if (!has_small_disks(run)) skip_test("no small disk can be mounted here");
  const std::string ranks = GENERATE("", " -n 4");
  const std::string units = GENERATE("8", "500");  // metrics.jsonl or a checkpoint meets the end of the disk
  const ProgramResult result = run.shell(
      kSmallDisk +
      "$TRAINER a.yaml --datapar -s train.steps=20000 -s train.log_every=1 -s train.evaluate=never" +
      " -s model.layers[0].dense.units=" + units + " -s train.checkpoint={steps:\\ 50} -o disk/run" + ranks +
      "; code=$?; ls disk/run/checkpoints >&2; ls disk/run | grep partial; tail -c 1 disk/run/metrics.jsonl "
      "| od -c; exit $code'");
  INFO(result.out);
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK(result.err.find("No space left on device") != std::string::npos);
  CHECK(occurrences(result.err, "error: ") == 1);
  CHECK(result.out.find("partial") == std::string::npos);
  CHECK(result.out.find("\\n") != std::string::npos);
}

}  // namespace trainer
