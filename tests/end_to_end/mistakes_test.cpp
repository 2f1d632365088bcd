// What a new user writes by mistake, or as other programs call it: each ends with the place and the remedy.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

/// A mistake in a.yaml, which is kSmallRun with `from` replaced by `to`.
struct WrittenMistake {
  std::string from, to;
  std::string place;  ///< "LINE:COLUMN"
  std::string remedy;
};

struct TypedMistake {
  std::vector<std::string> words;
  std::string remedy;
};

const std::string kDense = "dense: {units: 8, activation: relu}", kLoss = "softmax_cross_entropy",
                  kOptimizer = "optimizer: {sgd: {lr: 0.1}}";

std::vector<WrittenMistake> written_mistakes() {
  return {
      // Layers.
      {kDense, "linear: 8", "4:7", "`linear` is called `dense` here"},
      {kDense, "fully_connected: {units: 8}", "4:7", "`fully_connected` is called `dense` here"},
      {kDense, "fc: 8", "4:7", "`fc` is called `dense` here"},
      {kDense, "Dense: 8", "4:7", "`Dense` is written `dense` here"},
      {kDense, "conv2d: {filters: 4, kernel: 3}", "4:7", "`conv2d` is called `conv` here"},
      {kDense, "Convolution2D: {filters: 4, kernel: 3}", "4:7", "is called `conv` here"},
      {kDense, "ReLU", "4:7", "`ReLU` is written `relu` here"},
      {kDense, "batchnorm", "4:7", "`batchnorm` is written `batch_norm` here"},
      {kDense, "BatchNormalization", "4:7", "is called `batch_norm` here"},
      {kDense, "MaxPooling2D: 2", "4:7", "is called `max_pool` here"},
      {kDense, "swish", "4:7", "`swish` is called `silu` here"},
      {kDense, "input: [28, 28]", "4:7", "the data gives the input"},
      {kDense, "log_softmax", "4:7", "softmax_cross_entropy includes it"},
      {kDense, "{type: dense, units: 8}", "4:21", "write `dense: {units: 8}`"},
      {kDense, "dense:\n      units: 8", "5:7", "a setting of dense? then in its map"},
      {"\n    - " + kDense + "\n    - dense: 10", "\n    dense: 10", "4:5", "a `- ` before each entry?"},
      // Settings of layers.
      {kDense, "dense: {out_features: 8}", "4:15", "`out_features` is called `units` here"},
      {kDense, "dense: {units: 8, act: relu}", "4:25", "`act` is called `activation` here"},
      {kDense, "dense: {units: 8, activation: ReLU}", "4:37", "`ReLU` is written `relu` here"},
      {kDense, "dense: {units: 8, in_features: 784}", "4:25", "follows from the layer below"},
      {kDense, "conv: {out_channels: 4, kernel: 3}", "4:14", "`out_channels` is called `filters` here"},
      {kDense, "conv: {filters: 4, kernel_size: 3}", "4:26", "`kernel_size` is called `kernel` here"},
      {kDense, "conv: {filters: 4, kernel: 3x3}", "4:34", "write `[3, 3]`"},
      {kDense, "conv: {filters: 4, kernel: 3, padding: 1}", "4:37", "`padding` is called `pad` here"},
      {kDense, "conv: {filters: 4, kernel: 3, pad: valid}", "4:42", "`pad: 0`"},
      {kDense, "max_pool: {kernel_size: 2}", "4:18", "`kernel_size` is called `size` here"},
      {kDense, "dropout: {p: 0.5}", "4:17", "`p` is called `rate` here"},
      {kDense, "dropout: 50%", "4:16", "a share of 1"},
      {"dense: 10", "dense: $class", "5:14", "did you mean `$classes`?"},
      {"dense: 10", "dense: $vocab", "5:14", "`$vocab` is the number of tokens of a text"},
      {kDense, "embedding: 8", "4:7", "`$vocab` is the number of tokens of a text"},
      // Losses, optimizers, metrics.
      {kLoss, "cross_entropy", "6:9", "`cross_entropy` is called `softmax_cross_entropy` here"},
      {kLoss, "CrossEntropyLoss", "6:9", "is called `softmax_cross_entropy` here"},
      {kLoss, "bce", "6:9", "`bce` is called `sigmoid_cross_entropy` here"},
      {"loss: " + kLoss, "criterion: mse", "6:3", "`criterion` is called `loss` here"},
      {kOptimizer, "optimizer: {sgd: {learning_rate: 0.1}}", "10:21", "`learning_rate` is called `lr` here"},
      {kOptimizer, "optimizer: {type: sgd, lr: 0.1}", "10:26", "write `sgd: {lr: 0.1}`"},
      {kOptimizer, "optimizer: {sgd: 0.1}", "10:20", "write `sgd: {lr: 0.1}`"},
      {kOptimizer, "optimizer: {sgd: {lr: 0,05}}", "10:27", "a comma, not a point? write `lr: 0.05`"},
      {kOptimizer, "optimizer: momentum", "10:14", "`sgd: {lr: 0.1, momentum: 0.9}`"},
      {kOptimizer, kOptimizer + "\n  lr: 0.1", "11:3", "did you mean `train.optimizer.NAME.lr`?"},
      {kOptimizer, "sgd: {lr: 0.1}", "10:3", "write `optimizer: {sgd: ...}`"},
      {"[accuracy]", "[acc]", "11:13", "`acc` is called `accuracy` here"},
      {"[accuracy]", "[top5]", "11:13", "`top5` is called `top_k` here"},
      // Keys in wrong places.
      {"  batch: 8", "  batch_size: 8", "9:3", "`batch_size` is called `batch` here"},
      {"  epochs: 1", "  num_epochs: 1", "8:3", "`num_epochs` is called `epochs` here"},
      {kOptimizer, "optimizer: {sgd: {lr: 0.1, epochs: 3}}", "10:30", "did you mean `train.epochs`?"},
      {"model:", "batch_size: 8\nmodel:", "2:1", "did you mean `train.batch`?"},
      {"model:", "network:", "2:1", "`network` is called `model` here"},
      {"data: {dataset: mnist, path: set}", "data: mnist", "1:7", "write `data: {dataset: mnist}`"},
      {"data: {dataset: mnist, path: set}", "data: {mnist: set}", "1:8", "write `dataset: {mnist: ...}`"},
      {"path: set", "root: set", "1:24", "`root` is called `path` here"},
      {"path: set", "path: set, normalize: true", "1:46", "`true` is called `per_channel` here"},
      {"path: set", "path: set, validation: 20", "1:47", "20 % is 0.2"},
      {"path: set", "path: set, normalize: {mean: 0.5, deviation: [1]}", "1:53", "in brackets?"},
      {"path: set", "path: \"set", "1:30", "this quote is not closed"},
      // Values.
      {"  epochs: 1", "  epochs: 1,000", "8:11", "write `1000`"},
      {"  epochs: 1", "  epochs: 1\n  stop: {minutes: 30}", "9:10", "`minutes` is called `time` here"},
      {"  batch: 8", "  batch: 8\n  warmup: 5", "10:11", "write `{epochs: 5}` or `{steps: 5}`"},
      {"  batch: 8", "  batch: 8\n  checkpoint: 5", "10:15", "write `checkpoint: {epochs: 5}`"},
      {"  batch: 8", "  batch: 8\n  early_stopping: true", "10:19", "write `early_stopping: {}`"},
      {"  batch: 8", "  batch: 8\n  scheduler: cosine", "10:3", "`scheduler` is called `schedule` here"},
      {"  batch: 8", "  batch: 8\n  schedule: CosineAnnealingLR", "10:13", "is called `cosine` here"},
      {"  batch: 8", "  batch: 8\n  patience: 3", "10:3", "`patience` is called `early_stopping` here"},
      {kLoss, "{softmax_cross_entropy: {class_weights: auto}}", "6:49", "`auto` is called `balanced` here"},
      {"  batch: 8", "  batch: 8\n  callbacks: []", "10:3", "`early_stopping`, `checkpoint`"},
      {"  batch: 8", "  batch: 8\n  stop: {time: 30}", "10:16", "time: 30m; units are s, m, h and d"},
      {"dataset: mnist, path: set", "dataset: {npy: {train: a.npy}}", "1:24", "did you mean `train_inputs`?"},
      {"  batch: 8", "  batch: 8\n  checkpoint: {minutes: 30m}", "10:25", "without a unit: `30`"},
      {"  batch: 8", "  batch: 8\n  checkpoint: none", "10:15", "`none` is called `never` here"},
      {"  batch: 8", "  batch: 8\n  device: cuda", "10:3", "the program runs on processors"},
  };
}

std::vector<TypedMistake> typed_mistakes() {
  return {
      {{"fit", "a.yaml"}, "`fit` is called `train` here"},
      {{"evaluate", "runs/a"}, "`evaluate` is called `eval` here"},
      {{"test", "runs/a"}, "`test` is called `eval` here"},
      {{"download", "mnist"}, "`download` is called `fetch` here"},
      {{"a.yaml", "--epochs", "3"}, "-s train.epochs=VALUE"},
      {{"a.yaml", "--batch-size", "3"}, "-s train.batch=VALUE"},
      {{"a.yaml", "--lr=0.1"}, "-s train.optimizer.NAME.lr=VALUE"},
      {{"a.yaml", "--np", "2"}, "`--np` is called `--ranks` here"},
      {{"a.yaml", "--trace", "t.json"}, "`trainer time CONFIG --trace FILE` records when each layer runs"},
      {{"a.yaml", "--tensorboard"}, "`trainer report RUN --tensorboard` writes event files"},
      {{"a.yaml", "--gpus", "1"}, "the program runs on processors"},
      {{"a.yaml", "-s", "train.batch_size=4"}, "`batch_size` is called `batch` here"},
      {{"a.yaml", "-s", "train.lr=0.2"}, "did you mean `train.optimizer.NAME.lr`?"},
      {{"a.yaml", "-s", "train.optimizer.lr=0.2"}, "did you mean `train.optimizer.sgd.lr`?"},
      {{"a.yaml", "-s", "model.layers[0].units=4"}, "did you mean `model.layers[0].dense.units`?"},
      {{"a.yaml", "-s", "train.epochs", "3"}, "-s expects KEY=VALUE, got `train.epochs`"},
      {{"a.yml"}, "did you mean `a.yaml`?"},
      {{"a.yaml", "-s", "data.fraction=0.001", "-s", "data.validation=0.2"}, "help: a larger fraction"},
      {{"unnamed"}, "help: trainer ./unnamed"},
      {{"./sett"}, "did you mean `./set`?"},
      {{"summary", "none.yaml"}, "`trainer new mlp` prints a configuration to start from"},
      {{"new", "cnn"}, "`cnn` is called `convnet` here"},
      {{"new", "tables"}, "did you mean `table`?"},
      {{"eval", "runs/a", "--split", "val"}, "`val` is called `valid` here"},
      {{"fetch", "minst"}, "did you mean `mnist`?"},
      {{"fetch", "shakespeare"}, "did you mean `tinyshakespeare`?"},
      {{"export", "runs/a", "tensorflow"}, "its own tools read `onnx`"},
      {{"export", "runs/a", "pytorch"}, "`pytorch` is called `safetensors` here"},
      {{"resume", "runs/a"}, "`resume` is called `train` here"},
      {{"export", "onnx", "runs/a"}, "trainer export RUN onnx"},
      {{"export", "runs/a", "a/net.onnx"}, "trainer export RUN onnx --out a/net.onnx"},
      {{"check", "set"}, "help: a YAML file"},
      {{"set"}, "`model.weights: {file: set}`"},
      {{"images.yaml", "-s", "model.layers[0].conv.kernel=40"}, "with -s model.layers[0].conv.kernel=40"},
      {{"init", "mlp"}, "`init` is called `new` here"},
      {{"a.yaml", "-s", "model.layers.0.dense.units=4"}, "an entry of a list is written `model.layers[0]`"},
      {{"a.yaml", "-s", "model.weights=a.safetensors"}, "write `weights: {file: a.safetensors}`"},
      {{"set/table.csv"}, "`trainer new table FILE` prints a configuration for a table"},
      {{"sweep", "a.yaml", "-s", "train.optimizer.sgd.lr=loguniform(1e-3,1)"},
       "`loguniform` is called `log` here"},
      {{"sweep", "a.yaml", "-s", "train.batch=int[1,3]"}, "int(low,high)"},
  };
}

/// A table of samples whose targets are numbers, under "set".
std::string numbers_table() {
  std::string table = "x,y\n";
  for (int row = 0; row < 60; ++row) table += std::to_string(row) + "," + std::to_string(row) + ".5\n";
  return table;
}

}  // namespace

TEST_CASE("a mistake in a file ends with its place and its remedy", "[mistakes]") {
  CHECK(written_mistakes().size() + typed_mistakes().size() >= 50);
  for (const WrittenMistake& mistake : written_mistakes()) {
    DYNAMIC_SECTION(mistake.to) {
      const SmallRun run;
      write_text(run.path("a.yaml"), replaced(kSmallRun, mistake.from, mistake.to));
      const ProgramResult result = run.trainer({"a.yaml"});
      INFO(result.err);
      CHECK(result.code == 2);
      const std::size_t place = result.err.find("--> a.yaml:" + mistake.place + "\n");
      REQUIRE(place != std::string::npos);
      const std::size_t next = result.err.find("\n\nerror: ", place);
      CHECK(result.err.substr(place, next - place).find(mistake.remedy) != std::string::npos);
      CHECK_FALSE(std::filesystem::exists(run.path("runs")));
    }
  }
}

TEST_CASE("a mistake in a command ends with its remedy", "[mistakes]") {
  const SmallRun run;
  write_text(run.path("set") / "table.csv", numbers_table());
  write_text(run.path("unnamed"), kSmallRun);
  write_text(run.path("set") / "config.json", "{}");
  write_text(run.path("images.yaml"), replaced(kSmallRun, kDense, "conv: {filters: 2, kernel: 3}"));
  for (const TypedMistake& mistake : typed_mistakes()) {
    const ProgramResult result = run.trainer(mistake.words);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.err.find(mistake.remedy) != std::string::npos);
  }
}

TEST_CASE("a likely mistake is a warning, and the run trains", "[mistakes]") {
  using Row = std::tuple<std::string, std::string, std::string>;
  const auto [from, to, warning] = GENERATE(table<std::string, std::string, std::string>({
      Row{"dense: 10", "dense: 10\n    - softmax",
          "warning: `softmax` before softmax_cross_entropy, which includes it\n  --> a.yaml:6:7\n"},
      Row{"dense: 10", "dense: {units: 10, activation: relu}",
          "warning: `relu` after the last layer limits the outputs that softmax_cross_entropy compares\n"
          "  --> a.yaml:5:38\n"},
      Row{kDense + "\n    - dense: 10", "dense: {units: 10, frozen: true}",
          "warning: no layer learns: all of them are frozen\n  --> a.yaml:4:5\n"},
      Row{"lr: 0.1", "lr: 100", "warning: a learning rate of 100 is very high\n  --> a.yaml:10:25\n"},
      Row{"batch: 8", "batch: 8\n  schedule: {cosine: 10}",
          "warning: the learning rate rises from 0.1 to 10\n  --> a.yaml:10:22\n"},
      Row{"batch: 8", "batch: 100000",
          "warning: a batch of 100000 is larger than the training set of 40 samples\n  --> a.yaml:9:10\n"},
  }));
  const SmallRun run;
  write_text(run.path("a.yaml"), replaced(kSmallRun, from, to));
  for (const std::vector<std::string>& words : {std::vector<std::string>{"a.yaml"}, {"check", "a.yaml"}}) {
    const ProgramResult result = run.trainer(words);
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(result.err.find(warning) == 0);
    CHECK(occurrences(result.err, "warning: ") == 1);
  }
  CHECK(run.trainer({"check", "a.yaml"}).out.starts_with("a.yaml: ok\n"));
  CHECK(run.trainer({"a.yaml", "-q"}).err.empty());
}

TEST_CASE("classes that teach nothing, and numbers that are classes, are warnings", "[mistakes]") {
  const SmallRun run;
  write_text(run.path("a.yaml"),
             replaced(replaced(kSmallRun, "dataset: mnist", "dataset: {csv: {train: table.csv, target: y}}"),
                      "dense: 10", "dense: $classes"));
  const auto warning = [&](const std::string& table) {
    write_text(run.path("set") / "table.csv", table);
    const ProgramResult result = run.trainer({"check", "a.yaml"});
    CHECK(result.code == 0);
    return result.err;
  };
  CHECK_THAT(warning("x,y\n1,one\n2,one\n3,one\n4,one\n5,one\n6,one\n7,one\n8,one\n"),
             Catch::Contains("warning: all training samples are of one class\n  --> a.yaml:1:18\n"));
  CHECK_THAT(warning(numbers_table()),
             Catch::Contains("warning: 60 different numbers are classes, such as 0.5\n  --> a.yaml:1:") &&
                 Catch::Contains("`targets: numbers` in csv"));
  CHECK(warning("x,y\n1,1\n2,0\n3,1\n4,0\n5,1\n6,0\n7,1\n8,0\n").empty());
}

TEST_CASE("memory follows the set and not a batch that is larger", "[mistakes]") {
  if (is_built_with("address") || is_built_with("thread")) return;  // which reserve more addresses
  const SmallRun run;
  const ProgramResult result =
      run.shell("ulimit -v 2000000; $TRAINER a.yaml -q -s train.batch=1000000000", 20);
  INFO(result.err);
  CHECK(result.code == 0);
  // Nor is it the test set, of 10,000 images here beside 60 to train on.
  write_text(run.path("b.yaml"),
             replaced(replaced(kSmallRun, "dataset: mnist, path: set", "dataset: digits, fraction: 0.001"),
                      kDense, "conv: {filters: 64, kernel: 3}"));
  const ProgramResult larger = run.shell("ulimit -v 2000000; $TRAINER b.yaml -q -s train.batch=10000", 20);
  INFO(larger.err);
  CHECK(larger.code == 0);
}

TEST_CASE("numbers that are read as classes are answered with `targets: numbers`", "[mistakes]") {
  const SmallRun run;
  write_text(run.path("set") / "table.csv", numbers_table());
  const std::string loss = GENERATE("mse", "softmax_cross_entropy");
  const std::string table =
      replaced(kSmallRun, "dataset: mnist", "dataset: {csv: {train: table.csv, target: y}}");
  write_text(run.path("a.yaml"), replaced(replaced(table, "dense: 10", "dense: 1"), kLoss, loss));
  const ProgramResult result = run.trainer({"a.yaml", "-s", "train.metrics=[]"});
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find("the dataset reads its targets as 60 classes") != std::string::npos);
  CHECK(result.err.find("  --> a.yaml:1:") != std::string::npos);
  CHECK(result.err.find("`targets: numbers` in csv") != std::string::npos);
}

TEST_CASE("a table that a configuration misnames is answered with what it has", "[mistakes]") {
  const SmallRun run;
  write_text(run.path("set") / "table.csv", numbers_table());
  const std::string table =
      replaced(replaced(replaced(kSmallRun, "dense: 10", "dense: 1"), kLoss, "mse"), "dataset: mnist",
               "dataset: {csv: {train: table.csv, target: y, targets: numbers}}");
  const auto mistake = [&](const std::string& from, const std::string& to) {
    write_text(run.path("a.yaml"), replaced(table, from, to));
    const ProgramResult result = run.trainer({"a.yaml"});
    CHECK((result.code == 2 || result.code == 3));
    return result.err;
  };
  CHECK_THAT(mistake("target: y", "target: 0"), Catch::Contains("columns are counted from 1"));
  CHECK_THAT(mistake("target: y", "target: yy"), Catch::Contains("did you mean `y`?"));
  CHECK_THAT(mistake("target: y", "target: Y"), Catch::Contains("did you mean `y`?"));
  CHECK_THAT(mistake("target: y", "target: z"), !Catch::Contains("did you mean"));
  CHECK_THAT(mistake("target: y", "target: y, ignore: [y]"),
             Catch::Contains("column 2 is the target and in `ignore`\n  --> set/table.csv:1"));
  CHECK_THAT(mistake("train: table.csv", "train: tabel.csv"),
             Catch::Contains("did you mean `set/table.csv`?"));
  CHECK_THAT(mistake("path: set", "path: sets"), Catch::Contains("there is no directory `sets`"));
  CHECK_THAT(
      mistake("path: set", "path: set/table.csv"),
      Catch::Contains("`set/table.csv` is a file, not a directory") && !Catch::Contains("did you mean"));
  CHECK_THAT(mistake("path: set", "path: ~/set"), Catch::Contains("-s 'data.path=${HOME}/set'"));
  std::filesystem::create_directories(run.path("set") / "rose");
  CHECK_THAT(mistake("csv: {train: table.csv, target: y, targets: numbers}", "image_folder: {size: 4}"),
             Catch::Contains("`train: .` in image_folder, if the folders in `set` are the classes"));
  CHECK_THAT(mistake("dense: 1\n", "dense: 2\n"),
             Catch::Contains("--> a.yaml:6:9\n") && Catch::Contains("make the last layer `dense: 1`"));
  CHECK_THAT(mistake("[accuracy]", "[accuracy]"),
             Catch::Contains("--> a.yaml:11:13\n") && Catch::Contains("mae"));
}

TEST_CASE("a table of another separator is answered with those that are read", "[mistakes]") {
  const SmallRun run;
  write_text(run.path("set") / "table.csv", "x|y\n1|2\n3|4\n");
  write_text(run.path("a.yaml"),
             replaced(kSmallRun, "dataset: mnist", "dataset: {csv: {train: table.csv, target: y}}"));
  const ProgramResult result = run.trainer({"a.yaml"});
  CHECK(result.code == 3);
  CHECK_THAT(result.err, Catch::Contains("it has 1 column\n") && Catch::Contains("comma, semicolon and tab"));
}

TEST_CASE("a column of a table without names is answered with its numbers", "[mistakes]") {
  const SmallRun run;
  write_text(run.path("set") / "table.csv", "1,2\n3,4\n5,6\n");
  write_text(run.path("a.yaml"),
             replaced(kSmallRun, "dataset: mnist", "dataset: {csv: {train: table.csv, target: y}}"));
  CHECK_THAT(run.trainer({"a.yaml"}).err,
             Catch::Contains("they have no names\nhelp: a number from 1 to 2; or `header: 1` in csv"));
}

TEST_CASE("a directory in the place of weights is answered with what to write", "[mistakes]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=0", "-o", "first"}).code == 0);
  const std::string checkpoint = "first/checkpoints/last";
  CHECK_THAT(run.trainer({"a.yaml", "--init", checkpoint}).err,
             Catch::Contains("help: --init first/checkpoints/last/model.safetensors\n"));
  CHECK_THAT(run.trainer({"check", "a.yaml", "-s", "model.weights.file=" + checkpoint}).err,
             Catch::Contains("--> model.weights.file\nhelp: first/checkpoints/last/model.safetensors\n"));
  CHECK_THAT(run.trainer({"new", "gpt", "--from", checkpoint}).err,
             Catch::Contains("help: a directory with config.json and model.safetensors\n"));
  // Of Hugging Face, under names that no layer here has.
  std::filesystem::create_directory(run.path("there"));
  write_text(run.path("there/config.json"), "{}");
  const std::string head = R"({"resnet.a.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  write_text(run.path("there/model.safetensors"),
             static_cast<char>(head.size()) + std::string(7, '\0') + head + std::string(8, '\0'));
  const std::string help = "help: -s 'model.weights={file: there}' reads a directory of Hugging Face\n";
  for (const std::string given : {"there", "there/model.safetensors"})
    CHECK_THAT(run.trainer({"a.yaml", "--init", given}).err, Catch::Contains(help));
  CHECK_THAT(run.trainer({"check", "a.yaml", "-s", "model.weights.file=there/model.safetensors"}).err,
             Catch::Contains(help));
}

TEST_CASE("an export into a directory is answered with a file in it", "[mistakes]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=0", "-o", "first"}).code == 0);
  CHECK_THAT(run.trainer({"export", "first", "onnx", "-o", "."}).err,
             Catch::Contains("error: --out . is a directory\nhelp: --out ./model.onnx\n"));
}

TEST_CASE("weights of another head are answered with `weights.except`", "[mistakes]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=0", "-o", "first"}).code == 0);
  const std::string weights = "first/checkpoints/last/model.safetensors";
  const ProgramResult folder = run.trainer({"a.yaml", "--init", "first"});
  CHECK(folder.code == 6);
  CHECK_THAT(folder.err, Catch::Contains("--> --init first") &&
                             Catch::Contains("help: --init first/checkpoints/best/model.safetensors"));
  const ProgramResult result =
      run.trainer({"a.yaml", "--init", weights, "-s", "model.layers[0].dense.units=9"});
  INFO(result.err);
  CHECK(result.code == 6);
  const std::string help = "-s 'model.weights={file: " + weights + ", except: [dense1, dense2]}'";
  CHECK(result.err.find("help: " + help) != std::string::npos);
  const ProgramResult mended = run.shell("$TRAINER a.yaml -q -s model.layers[0].dense.units=9 " + help);
  INFO(mended.err);
  CHECK(mended.code == 0);
  // A head of another name is as good as one of another shape.
  write_text(run.path("named.yaml"), replaced(kSmallRun, "dense: 10", "dense: {units: 10, name: head}"));
  CHECK_THAT(run.trainer({"named.yaml", "--init", weights}).err,
             Catch::Contains("help: -s 'model.weights={file: " + weights + ", except: [head]}'"));
  const auto weights_mistake = [&](const std::string& value) {
    return run.trainer({"check", "named.yaml", "-s", "model.weights=" + value}).err;
  };
  CHECK_THAT(weights_mistake("{file: " + weights + ", except: [hed]}"),
             Catch::Contains("did you mean `head`?"));
  CHECK_THAT(weights_mistake("{file: first}"),
             Catch::Contains("--> model.weights.file\nhelp: first/checkpoints/best/model.safetensors"));
  CHECK_THAT(weights_mistake("{file: none}"),
             Catch::Contains("`none` does not exist\n  --> model.weights.file\n"));
}

}  // namespace trainer
