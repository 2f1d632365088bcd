// A run, or a single checkpoint, is used without the data of its training, wherever it lies.
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/small_run.h"
#include "tests/support/images.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

void write_bytes(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  write_text(path, std::string(bytes.begin(), bytes.end()));
}

/// A .npy file of float32.
std::string npy(const std::string& shape, const std::vector<float>& values) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  bytes += header;
  return bytes + std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

std::string table_yaml(const std::string& dataset, const std::string& outputs, const std::string& loss) {
  return "data: {dataset: {" + dataset +
         "}, normalize: per_channel, validation: 0.2}\n"
         "model: {layers: [{dense: {units: 8, activation: tanh}}, {dense: " +
         outputs + "}], loss: " + loss + "}\ntrain: {epochs: 3, batch: 8, optimizer: {sgd: {lr: 0.1}}}\n";
}

constexpr int kRows = 40;

/// Three columns, of which the second decides the class, behind a header.
std::string flowers() {
  std::string text = "length,width,sort,height\n";
  for (int i = 0; i < kRows; ++i)
    text += std::to_string(i % 7) + "," + std::to_string(i % 2 == 0 ? 1.5 : -1.5) + "," +
            (i % 2 == 0 ? "wide" : "\"nar,row\"") + "," + std::to_string(0.25 * (i % 5)) + "\n";
  return text;
}

int lines_in(const std::string& text) { return occurrences(text, "\n"); }

/// Trains, predicts, moves the run, removes the data, and predicts again.
void check_move(const SmallRun& run, const std::string& yaml, const std::vector<std::string>& data,
                const std::vector<std::string>& inputs) {
  write_text(run.path("move.yaml"), yaml);
  const ProgramResult trained = run.trainer({"move.yaml", "-o", "here"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const auto predict = [&](const std::string& place) {
    std::vector<std::string> words{"predict", place, "--json"};
    words.insert(words.end(), inputs.begin(), inputs.end());
    return run.trainer(words);
  };
  const ProgramResult before = predict("here");
  INFO(before.err);
  REQUIRE(before.code == 0);
  REQUIRE(lines_in(before.out) > 1);
  fs::create_directories(run.path("far/away"));
  fs::copy(run.path("here/checkpoints/last"), run.path("far/alone"), fs::copy_options::recursive);
  fs::rename(run.path("here"), run.path("far/away/there"));
  for (const std::string& name : data) REQUIRE(fs::remove_all(run.path(name)) > 0);
  CHECK(predict("far/away/there").out == before.out);
  CHECK(predict("far/alone").out == before.out);
}

}  // namespace

TEST_CASE("a moved run without its data predicts images as before", "[predict]") {
  const SmallRun run;
  std::vector<std::string> files;
  for (int i = 0; i < 3; ++i) {
    files.push_back(std::to_string(i) + ".png");
    Bytes pixels(28 * 28);
    for (std::size_t k = 0; k < pixels.size(); ++k) pixels[k] = static_cast<std::uint8_t>(k * (i + 3) % 256);
    write_bytes(run.path(files.back()), png_bytes(28, 28, 1, pixels));
  }
  check_move(run, replaced(kSmallRun, "path: set", "path: set, normalize: per_channel"), {"set"}, files);
}

TEST_CASE("a moved run without its data predicts tables as before", "[predict]") {
  const SmallRun run;
  write_text(run.path("flowers.csv"), flowers());
  write_text(run.path("new.csv"), flowers());
  check_move(run, table_yaml("csv: {train: flowers.csv, target: sort}", "$classes", "softmax_cross_entropy"),
             {"flowers.csv"}, {"new.csv"});
}

TEST_CASE("a moved run predicts texts, missing and unseen values as before, trained on any ranks",
          "[predict]") {
  const SmallRun run;
  std::string table = "size;colour;new;price\n";
  for (int i = 0; i < 40; ++i)
    table += (i % 9 == 0 ? "NA" : std::to_string(i % 7)) + ";" +
             (i % 11 == 0  ? ""
              : i % 3 == 0 ? "red"
                           : "blue") +
             (i % 2 == 0 ? ";yes;" : ";no;") + std::to_string(5000 + i % 7 + i % 3) + "\n";
  write_text(run.path("a.csv"), table);
  write_text(run.path("new.csv"), "new,id,colour,size\nyes,1,blue,3\n?,2,green,\nno,3,,1e9\nmaybe,4,red,1\n");
  const std::string yaml =
      replaced(table_yaml("csv: {train: a.csv, target: price, targets: numbers}", "1", "mse"), "per_channel",
               "per_channel, normalize_targets: true");
  write_text(run.path("t.yaml"), yaml);
  REQUIRE(run.trainer({"t.yaml", "-o", "one", "-s", "train.exact=true"}).code == 0);
  const ProgramResult one = run.trainer({"predict", "one", "new.csv", "--csv", "--id", "id"});
  CHECK(one.code == 3);
  CHECK(one.err.find("skipped new.csv:5: column 1 `new` requires true, false, yes or no, got `maybe`") !=
        std::string::npos);
  REQUIRE(run.trainer({"t.yaml", "-o", "two", "-s", "train.exact=true", "--datapar"}, 2).code == 0);
  CHECK(one.out.find("\nnew.csv,2,1,500") != std::string::npos);  // in the unit of the price
  // The mean error in that unit, far below the price.
  const ProgramResult mae = run.trainer({"eval", "one", "-s", "train.metrics=[mae]"});
  CHECK(mae.out.find("mae ") != std::string::npos);
  CHECK(std::stod(mae.out.substr(mae.out.find("mae ") + 4)) < 10);
  const auto described = [&](const std::string& name) {
    return read_text(run.path(name) / "checkpoints/last/data.json");
  };
  CHECK(described("one") == described("two"));
  fs::rename(run.path("two"), run.path("moved"));
  fs::remove(run.path("a.csv"));
  const ProgramResult moved = run.trainer({"predict", "moved", "new.csv", "--csv", "--id", "id"}, 2);
  CHECK(moved.out == one.out);
  CHECK(lines_in(moved.out) == 4);
}

TEST_CASE("a moved run without its data predicts arrays as before", "[predict]") {
  const SmallRun run;
  std::vector<float> inputs, targets;
  for (int i = 0; i < kRows; ++i) {
    inputs.insert(inputs.end(), {static_cast<float>(i % 3), static_cast<float>(i % 5)});
    targets.insert(targets.end(), {static_cast<float>(i % 3) / 2, static_cast<float>(i % 5) / 4, 1});
  }
  write_text(run.path("x.npy"), npy("40, 2", inputs));
  write_text(run.path("y.npy"), npy("40, 3", targets));
  write_text(run.path("new.npy"), npy("40, 2", inputs));
  check_move(run,
             table_yaml("npy: {train_inputs: x.npy, train_targets: y.npy, targets: numbers}", "3", "mse"),
             {"x.npy", "y.npy"}, {"new.npy"});
}

TEST_CASE("a moved run without its text predicts lines and generates as before", "[predict]") {
  const SmallRun run;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "aäbc\n";
  write_text(run.path("abc.txt"), text);
  write_text(run.path("new.txt"), "a\nbc\naäbc\n\xc3\xa4");
  const std::string tokens = GENERATE("characters", "bytes", "bpe", "{sentencepiece: 262}");
  if (tokens == "bpe") write_text(run.path("merges"), "#version: 0.2\na Ã\nb c\n");
  const std::string merges = tokens == "bpe" ? ", merges: merges" : "";
  check_move(
      run,
      "data: {dataset: {text: {file: abc.txt, sequence: 8, tokens: " + tokens + merges + "}}}\n" +
          "model: {layers: [{embedding: 8}, {lstm: 8}, {dense: $vocab}], loss: softmax_cross_entropy}\n"
          "train: {epochs: 8, batch: 8, optimizer: {adam: {lr: 0.05}}}\n",
      {"abc.txt"}, {"new.txt"});
  fs::remove(run.path("merges"));
  const ProgramResult result = run.trainer(
      {"generate", "far/away/there", "--prompt", "bc\naä", "--tokens", "4", "--temperature", "0"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out.starts_with("bc\naäbc"));
}

TEST_CASE("other samples in files of the same names and sizes are an error where they are read",
          "[predict]") {
  const SmallRun run;
  std::string table = "x,y\n";
  for (int row = 0; row < 40; ++row) table += std::to_string(row % 10) + (row % 3 == 0 ? ",a\n" : ",b\n");
  write_text(run.path("t.csv"), table);
  write_text(run.path("t.yaml"),
             replaced(replaced(kSmallRun, "{dataset: mnist, path: set}",
                               "{dataset: {csv: {train: t.csv, target: y}}, validation: 0.2}"),
                      "dense: 10", "dense: $classes"));
  REQUIRE(run.trainer({"t.yaml", "-o", "run"}).code == 0);
  REQUIRE(run.trainer({"eval", "run"}).code == 0);
  write_text(run.path("t.csv"), replaced(table, "\n7,", "\n8,"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"eval", "run"}, {"run", "-s", "train.epochs=2"}}) {
    const ProgramResult result = run.trainer(words);
    CHECK(result.code == 3);
    CHECK(result.err.find("files of the same names and sizes have other samples") != std::string::npos);
  }
}

TEST_CASE("classes keep the names of training, whatever becomes of the folders", "[predict]") {
  const SmallRun run;
  for (const int shade : {0, 255})
    for (int i = 0; i < 4; ++i)
      write_bytes(run.path(shade == 0 ? "data/train/night" : "data/train/day") / (std::to_string(i) + ".png"),
                  png_bytes(4, 4, 1, repeated(16, {static_cast<std::uint8_t>(shade)})));
  write_text(run.path("b.yaml"), replaced(replaced(kSmallRun, "{dataset: mnist, path: set}",
                                                   "{dataset: {image_folder: {size: 4}}, path: data}"),
                                          "dense: 10", "dense: $classes"));
  REQUIRE(run.trainer({"b.yaml", "-o", "run", "-s", "train.epochs=30"}).code == 0);
  write_bytes(run.path("dusk.png"), png_bytes(9, 9, 1, repeated(81, {250})));
  const std::string before = run.trainer({"predict", "run", "dusk.png"}).out;
  CHECK(before.starts_with("dusk.png  day"));
  fs::rename(run.path("data/train/day"), run.path("data/train/zenith"));
  CHECK(run.trainer({"predict", "run", "dusk.png"}).out == before);
  // Where the samples are read, the difference is an error, as when the run resumes.
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"eval", "run", "--split", "train"}, {"run", "-s", "train.epochs=31"}}) {
    const ProgramResult result = run.trainer(words);
    CHECK(result.code == 3);
    CHECK(result.err.find("the data is not what the run learned from") != std::string::npos);
    CHECK(result.err.find("class 0 was `day`, and is `night`") != std::string::npos);
  }
  const ProgramResult folder = run.trainer({"predict", "run", "data/train", "--csv"});
  CHECK(folder.code == 0);
  CHECK(lines_in(folder.out) == 9);
  CHECK(folder.out.find("data/train/night/0.png,night,") != std::string::npos);
  CHECK(folder.out.find("data/train/zenith/3.png,day,") != std::string::npos);
}

TEST_CASE("predictions of values and of several labels are named after the target columns", "[predict]") {
  const SmallRun run;
  write_text(run.path("t.csv"), "warm,x,wet\n1,5,0\n0,1,0\n1,6,1\n0,2,1\n1,7,0\n0,3,0\n");
  write_text(run.path("new.csv"), "x\n4\n");
  for (const std::string loss : {"sigmoid_cross_entropy", "mse"}) {
    write_text(run.path("t.yaml"),
               table_yaml("csv: {train: t.csv, target: [wet, warm], targets: numbers}", "$classes", loss));
    REQUIRE(run.trainer({"t.yaml", "-o", loss}).code == 0);
    CHECK(run.trainer({"predict", loss, "new.csv", "--csv"}).out.starts_with("file,line,wet,warm\n"));
  }
  const auto labels = nlohmann::json::parse(
      run.trainer({"predict", "sigmoid_cross_entropy", "new.csv", "--json", "--threshold", "0"}).out);
  CHECK(labels["names"].size() == 2);
  CHECK(labels["names"][0] == (labels["probabilities"][0] > labels["probabilities"][1] ? "wet" : "warm"));
}

TEST_CASE("eval normalises by the statistics of training, whatever becomes of the training samples",
          "[predict]") {
  const SmallRun run;
  const auto draw = [&](const std::string& split, int dark) {
    for (const int shade : {dark, dark + 40})
      for (int i = 0; i < 4; ++i)
        write_bytes(
            run.path("data/" + split + (shade == dark ? "/night/" : "/day/") + std::to_string(i) + ".png"),
            png_bytes(4, 4, 1, repeated(16, {static_cast<std::uint8_t>(shade)})));
  };
  draw("train", 0);
  draw("val", 0);
  const std::string data = "{dataset: {image_folder: {size: 4}}, path: data, normalize: per_channel}";
  write_text(run.path("b.yaml"), replaced(replaced(kSmallRun, "{dataset: mnist, path: set}", data),
                                          "dense: 10", "dense: $classes"));
  REQUIRE(run.trainer({"b.yaml", "-o", "run"}).code == 0);
  const std::string before = run.trainer({"eval", "run"}).out;
  CHECK(before.find("test: image_folder, 8 samples") != std::string::npos);
  draw("train", 200);
  CHECK(run.trainer({"eval", "run"}).out == before);
}

TEST_CASE("columns of a table are found by their names, in any order, and ids are kept", "[predict]") {
  const SmallRun run;
  write_text(run.path("flowers.csv"), flowers());
  write_text(run.path("c.yaml"),
             table_yaml("csv: {train: flowers.csv, target: sort}", "$classes", "softmax_cross_entropy"));
  REQUIRE(run.trainer({"c.yaml", "-o", "run"}).code == 0);
  const auto probabilities = [&](const std::string& text, const std::vector<std::string>& flags = {}) {
    write_text(run.path("rows.csv"), text);
    std::vector<std::string> words{"predict", "run", "--json", "rows.csv"};
    words.insert(words.end(), flags.begin(), flags.end());
    const ProgramResult result = run.trainer(words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return nlohmann::json::parse(result.out.substr(0, result.out.find('\n')));
  };
  const auto by_training = probabilities("length,width,sort,height\n1,1.5,wide,0.25\n");
  CHECK(by_training["line"] == 2);
  CHECK(by_training["name"] == (by_training["class"] == 1 ? "wide" : "nar,row"));
  const auto reordered = probabilities("key,height,length,width\nfirst,0.25,1,1.5\n", {"--id", "key"});
  CHECK(reordered["id"] == "first");
  CHECK(reordered["probabilities"] == by_training["probabilities"]);
  CHECK(probabilities("1,1.5,0.25\n")["probabilities"] == by_training["probabilities"]);
  CHECK(probabilities("1,1.5,,0.25\n")["probabilities"] == by_training["probabilities"]);
  const auto top = probabilities("1,1.5,0.25\n", {"--top", "1"});
  CHECK(top["top"].size() == 1);
  CHECK(top["top"][0]["class"] == by_training["class"]);
  write_text(run.path("other.csv"), "length,breadth,height\n1,1.5,0.25\n");
  const ProgramResult other = run.trainer({"predict", "run", "other.csv"});
  CHECK(other.code == 2);
  CHECK(other.err.find("other.csv does not name the columns of the model") != std::string::npos);
  CHECK(other.err.find("; the first one lacks width\n") != std::string::npos);
}

TEST_CASE("damaged inputs are reported and skipped, and the code is 3", "[predict]") {
  const SmallRun run;
  write_text(run.path("flowers.csv"), flowers());
  write_text(run.path("c.yaml"),
             table_yaml("csv: {train: flowers.csv, target: sort}", "$classes", "softmax_cross_entropy"));
  REQUIRE(run.trainer({"c.yaml", "-o", "run"}).code == 0);
  write_text(run.path("good.csv"), "length,width,height\n1,1.5,0.25\n2,-1.5,0\n");
  write_text(run.path("bad.csv"), "length,width,height\n1,1.5,0.25\nx,1,1\n1,2\n1,\"2,3\n2,-1.5,0\n");
  const ProgramResult good = run.trainer({"predict", "run", "good.csv", "--csv"});
  CHECK(good.code == 0);
  const ProgramResult bad = run.trainer({"predict", "run", "bad.csv", "absent.csv", "--csv"});
  INFO(bad.out << bad.err);
  CHECK(bad.code == 3);
  for (const char* place :
       {"skipped bad.csv:3: column 1", "skipped bad.csv:4: 2 fields",
        "skipped bad.csv:5:", "skipped absent.csv", "4 of 6 inputs skipped: missing, damaged"})
    CHECK(bad.err.find(place) != std::string::npos);
  CHECK(lines_in(bad.out) == 3);
  const auto tail = [](const std::string& text) { return text.substr(text.rfind(',') + 1); };
  CHECK(tail(bad.out) == tail(good.out));
  write_text(run.path("x.npy"), npy("2, 3", {1, 1.5, 0.25, 1, NAN, 1}));
  const ProgramResult array = run.trainer({"predict", "run", "x.npy", "--json"});
  CHECK(array.code == 3);
  CHECK(array.err.find("skipped x.npy[1]: element 4 is nan") != std::string::npos);
  CHECK(lines_in(array.out) == 1);
  write_text(run.path("short.npy"), npy("3, 3", {1, 2, 3}));
  CHECK(run.trainer({"predict", "run", "short.npy"}).code == 3);
  write_text(run.path("wide.npy"), npy("1, 4", {1, 2, 3, 4}));
  CHECK(run.trainer({"predict", "run", "wide.npy"}).code == 2);
  write_text(run.path("empty.csv"), "");
  CHECK(run.trainer({"predict", "run", "empty.csv"}).code == 3);
}

TEST_CASE("predictions are the same on any number of ranks and threads, from files and from a pipe",
          "[predict]") {
  const SmallRun run;
  write_text(run.path("flowers.csv"), flowers());
  write_text(run.path("c.yaml"),
             table_yaml("csv: {train: flowers.csv, target: sort}", "$classes", "softmax_cross_entropy"));
  REQUIRE(run.trainer({"c.yaml", "-o", "run"}).code == 0);
  std::string many = "length,width,height\n";
  for (int i = 0; i < 500; ++i)
    many += i == 77 ? "no,row,\n" : std::to_string(i) + ",1," + std::to_string(i % 3) + "\n";
  write_text(run.path("many.csv"), many);
  for (const char* format : {"--csv", "--npy"}) {
    const ProgramResult alone = run.trainer({"predict", "run", "many.csv", format});
    CHECK(alone.code == 3);
    if (std::string(format) == "--csv") CHECK(lines_in(alone.out) == 500);
    for (const int ranks : {2, 3}) {
      const ProgramResult several =
          run.trainer({"predict", "run", "many.csv", format, "--threads", "2"}, ranks);
      INFO(several.err);
      CHECK(several.code == 3);
      CHECK(several.out == alone.out);
      CHECK(several.err.find("skipped many.csv:79:") != std::string::npos);
    }
  }
  const std::string alone = run.trainer({"predict", "run", "many.csv", "--json"}).out;
  for (const char* ranks : {"", " -n 2"}) {
    const ProgramResult piped = run.shell(std::string("cat many.csv | \"$TRAINER\" predict run - --json") +
                                          ranks + " | sed 's/-/many.csv/'");
    INFO(piped.err);
    CHECK(piped.out == alone);
  }
}

TEST_CASE("a line of a pipe is answered before the next one comes", "[predict]") {
  const SmallRun run;
  write_text(run.path("flowers.csv"), flowers());
  write_text(run.path("c.yaml"),
             table_yaml("csv: {train: flowers.csv, target: sort}", "$classes", "softmax_cross_entropy"));
  REQUIRE(run.trainer({"c.yaml", "-o", "run"}).code == 0);
  const ProgramResult result = run.shell(
      "mkfifo in; \"$TRAINER\" predict run - --csv < in > out & exec 3>in; echo 1,1.5,0.25 >&3; "
      "while ! grep -q '^-,1,' out; do sleep 0.05; done; echo 2,1,0 >&3; exec 3>&-; wait $!; cat out");
  CHECK_FALSE(result.timed_out);
  CHECK(lines_in(result.out) == 3);
}

TEST_CASE("images are named on standard input, or come through it", "[predict]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "run"}).code == 0);
  for (const char* name : {"a.png", "b.png"})
    write_bytes(run.path(name),
                png_bytes(28, 28, 1, repeated(28 * 28, {static_cast<std::uint8_t>(name[0])})));
  const std::string both = run.trainer({"predict", "run", "a.png", "b.png", "--csv"}).out;
  CHECK(lines_in(both) == 3);
  CHECK(run.shell("printf 'a.png\\nb.png\\n' | \"$TRAINER\" predict run - --csv").out == both);
  const ProgramResult piped = run.shell("cat b.png | \"$TRAINER\" predict run - --csv | sed 's/^-/b.png/'");
  CHECK(piped.out.substr(piped.out.find('\n')) == both.substr(both.rfind("\nb.png")));
  const ProgramResult absent = run.shell("echo gone.png | \"$TRAINER\" predict run -");
  CHECK(absent.code == 3);
  CHECK(absent.err.find("gone.png") != std::string::npos);
}

TEST_CASE("eval takes the test samples, else those of validation, and refuses changed data", "[predict]") {
  const SmallRun run;
  write_text(run.path("flowers.csv"), flowers());
  write_text(run.path("c.yaml"),
             table_yaml("csv: {train: flowers.csv, target: sort}", "$classes", "softmax_cross_entropy"));
  REQUIRE(run.trainer({"c.yaml", "-o", "run"}).code == 0);
  const ProgramResult valid = run.trainer({"eval", "run"});
  CHECK(valid.code == 0);
  CHECK(valid.out.find("\nvalid: csv, 8 samples\n") != std::string::npos);
  // The last line of a run names a command that works.
  const ProgramResult whole = run.trainer({"c.yaml", "-o", "whole", "-s", "data.validation=0"});
  CHECK(whole.out.ends_with("use: trainer eval whole --split train\n"));
  CHECK(run.trainer({"eval", "whole"}).code == 2);
  CHECK(run.trainer({"eval", "whole", "--split", "train"}).code == 0);
  write_text(run.path("flowers.csv"), flowers() + "1,1.5,wide,0\n");
  const ProgramResult changed = run.trainer({"eval", "run"});
  CHECK(changed.code == 3);
  CHECK(changed.err.find("now: csv, 33 samples") != std::string::npos);
  // Other samples need no training data.
  fs::rename(run.path("flowers.csv"), run.path("new.csv"));
  const ProgramResult given = run.trainer({"eval", "run", "--data", "new.csv"});
  INFO(given.err);
  CHECK(given.code == 0);
  CHECK(given.out.find("\ndata: new.csv, 41 samples\n") != std::string::npos);
  write_text(run.path("odd.csv"), "length,width,sort,height\n1,1,unknown,1\n");
  CHECK(run.trainer({"eval", "run", "--data", "odd.csv"}).code == 3);
}

TEST_CASE("other samples are evaluated in each format, with the classes of training", "[predict]") {
  const SmallRun run;
  const auto evaluate = [&](const std::string& yaml, const std::vector<std::string>& given) {
    write_text(run.path("e.yaml"), yaml);
    fs::remove_all(run.path("run"));
    const ProgramResult trained = run.trainer({"e.yaml", "-o", "run", "-q"});
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    const std::string own = run.trainer({"eval", "run", "--split", "train"}).out;
    fs::create_directory(run.path("moved"));
    std::vector<std::string> words{"eval", "run"};
    for (const std::string& name : given) {
      fs::rename(run.path(name), run.path("moved") / fs::path(name).filename());
      words.insert(words.end(), {"--data", "moved/" + fs::path(name).filename().string()});
    }
    const ProgramResult result = run.trainer(words);
    INFO(result.err);
    CHECK(result.code == 0);
    const ProgramResult absent = run.trainer({"eval", "run", "--split", "train"});
    CHECK(absent.code == 3);
    CHECK(absent.err.find("--data FILES evaluates on other samples") != std::string::npos);
    const auto loss = [](const std::string& text) { return text.substr(text.find("\nloss ")); };
    CHECK(loss(result.out) == loss(own));
    CHECK(run.trainer({"eval", "run", "--data", "absent"}).code != 0);
    fs::remove_all(run.path("moved"));
  };
  evaluate(replaced(kSmallRun, "path: set", "path: set, normalize: per_channel"),
           {"set/train-images-idx3-ubyte", "set/train-labels-idx1-ubyte"});

  for (const int shade : {0, 255})
    write_bytes(run.path(shade == 0 ? "data/train/night/a.png" : "data/train/day/b.png"),
                png_bytes(4, 4, 1, repeated(16, {static_cast<std::uint8_t>(shade)})));
  evaluate(replaced(replaced(kSmallRun, "{dataset: mnist, path: set}",
                             "{dataset: {image_folder: {size: 4}}, path: data}"),
                    "dense: 10", "dense: $classes"),
           {"data/train"});

  std::vector<float> inputs(2 * kRows);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i % 7);
  write_text(run.path("x.npy"), npy("40, 2", inputs));
  std::vector<float> targets(kRows);
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<float>(1000 * (i % 5));
  write_text(run.path("y.npy"), npy("40, 1", targets));
  evaluate(
      "data: {dataset: {npy: {train_inputs: x.npy, train_targets: y.npy, targets: numbers}}, "
      "normalize_targets: true}\n"
      "model: {layers: [{dense: 1}], loss: mse}\ntrain: {epochs: 1, batch: 8, metrics: [mae], optimizer: "
      "{sgd: {lr: 0.01}}}\n",
      {"x.npy", "y.npy"});

  std::string text;
  for (int i = 0; i < 300; ++i)
    text +=
        "a\xc3\xa4"
        "bc";
  write_text(run.path("abc.txt"), text);
  evaluate(
      "data: {dataset: {text: {file: abc.txt, tokens: characters, sequence: 8}}}\n"
      "model: {layers: [{embedding: 8}, {dense: $vocab}], loss: softmax_cross_entropy}\n"
      "train: {epochs: 1, batch: 8, optimizer: {sgd: {lr: 0.1}}}\n",
      {"abc.txt"});
  write_text(run.path("odd.txt"), text + "x");
  const ProgramResult odd = run.trainer({"eval", "run", "--data", "odd.txt"});
  CHECK(odd.code == 3);
  CHECK_THAT(odd.err,
             Catch::Contains("the training text has no character `x`") && Catch::Contains("odd.txt"));
}

TEST_CASE("a checkpoint of an earlier program needs its data, and names it", "[predict]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "run"}).code == 0);
  const fs::path last = run.path("run/checkpoints/last");
  // As it was before: without data.json and its checksum, which `verify` would miss.
  fs::remove(last / "data.json");
  CHECK(run.trainer({"predict", "run", "set"}).code == 6);
  fs::remove(last / "state.json");
  write_bytes(run.path("a.png"), png_bytes(28, 28, 1, repeated(28 * 28, {9})));
  CHECK(run.trainer({"predict", "run", "a.png"}).code == 0);
  fs::remove_all(run.path("set"));
  const ProgramResult gone = run.trainer({"predict", "run", "a.png"});
  CHECK(gone.code == 3);
  CHECK(gone.err.find("lacks data.json: an earlier program made it") != std::string::npos);
}

}  // namespace trainer
