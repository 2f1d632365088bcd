
#include "datasets/loading/data.h"
#include "engine/config/config_tree.h"
#include "tests/datasets/files.h"
#include "tests/support/skip.h"

namespace trainer {
namespace {

/// Opens `data: {dataset: {text: {SETTINGS}}, path: ..., MORE}` and loads its samples.
Data opened(const TemporaryDirectory& directory, const std::string& settings, const std::string& more = "") {
  const ConfigTree tree({.file = "run.yaml",
                         .text = "data: {dataset: {text: {" + settings + "}}, path: " + directory.path() +
                                 (more.empty() ? "" : ", ") + more + "}"},
                        {section("data", "the data", data_settings())});
  Data data = open_data(tree.root().at("data"), 1);
  load_samples(data, *solo());
  return data;
}

/// The bytes that each token of the vocabulary stands for.
std::vector<std::string> token_texts(const Dataset& dataset) {
  const Tokenizer& tokenizer = *dataset.info().tokenizer;
  std::vector<std::string> texts;
  texts.reserve(static_cast<std::size_t>(tokenizer.vocabulary()));
  for (int token = 0; token < tokenizer.vocabulary(); ++token)
    texts.emplace_back(tokenizer.bytes_of(static_cast<Token>(token)));
  return texts;
}

/// The tokens of a sample, and behind them its labels.
std::vector<int> sample_of(const Dataset& dataset, std::int64_t index) {
  const auto length = static_cast<std::size_t>(dataset.positions());
  std::vector<float> tokens(length);
  std::vector<std::int32_t> labels(length);
  dataset.read({&index, 1}, {tokens.data(), dataset.sample().with_front(1)});
  dataset.read_labels({&index, 1}, labels);
  std::vector<int> all(tokens.begin(), tokens.end());
  all.insert(all.end(), labels.begin(), labels.end());
  return all;
}

}  // namespace

TEST_CASE("a text is cut into windows whose labels are the bytes that come next", "[data]") {
  const TemporaryDirectory directory;
  const std::string place = GENERATE("a.txt", "text/a.txt");
  directory.write(place, bytes_of("abcdefgh"));
  const Data data = opened(directory, "file: a.txt, sequence: 3");
  CHECK(data.train->size() == 2);  // the last label of a third window is missing
  CHECK(data.train->sample() == Shape{3});
  CHECK(data.train->positions() == 3);
  CHECK(data.train->classes() == 256);
  CHECK(data.train->info().vocabulary == 256);
  CHECK(sample_of(*data.train, 1) == std::vector<int>{'d', 'e', 'f', 'e', 'f', 'g'});
}

TEST_CASE("a gzipped text is the same text", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt.gz", gzipped(bytes_of("abcdefgh")));
  CHECK(sample_of(*opened(directory, "file: a.txt, sequence: 7").train, 0).back() == 'h');
}

TEST_CASE("a small file that unpacks to far more than text does is refused, with the limit", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt.gz", gzipped(Bytes((1 << 26) + 1, ' ')));
  const std::string tokens = GENERATE("bytes", "characters");
  CHECK_THAT(data_error([&] { opened(directory, "file: a.txt, sequence: 7, tokens: " + tokens); }),
             Catch::Contains("unpacks to more than the limit") && Catch::Contains("the limit is 67108864"));
}

TEST_CASE("characters are tokens in the order of their code points, whatever their length", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of("z\xC3\xA4\xE2\x82\xAC"
                                    "a\xF0\x9F\x98\x80z"));  // z ä € a 😀 z
  const Data data = opened(directory, "file: a.txt, sequence: 5, tokens: characters");
  // With a name: under ThreadSanitizer the elements of one that is made within CHECK are wrong.
  const std::vector<std::string> texts{"a", "z", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
  CHECK(token_texts(*data.train) == texts);
  CHECK(data.train->info().vocabulary == 5);
  CHECK(data.train->classes() == 5);
  CHECK(sample_of(*data.train, 0) == std::vector<int>{1, 2, 3, 0, 4, 2, 3, 0, 4, 1});
}

TEST_CASE("a byte order mark in front of a text is no character of it", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of("\xEF\xBB\xBF"
                                    "abab\xEF\xBB\xBF"
                                    "ab"));
  const Data data = opened(directory, "file: a.txt, sequence: 3, tokens: characters");
  CHECK(token_texts(*data.train) == std::vector<std::string>{"a", "b", "\xEF\xBB\xBF"});
  CHECK(sample_of(*data.train, 0) == std::vector<int>{0, 1, 0, 1, 0, 1});
}

TEST_CASE("a vocabulary above 256 characters keeps its tokens", "[data]") {
  const TemporaryDirectory directory;
  Bytes text;
  for (int character = 0x100; character < 0x300; ++character) {
    text.push_back(static_cast<std::uint8_t>(0xC0 | (character >> 6)));
    text.push_back(static_cast<std::uint8_t>(0x80 | (character & 0x3F)));
  }
  directory.write("a.txt", text);
  const Data data = opened(directory, "file: a.txt, sequence: 100, tokens: characters");
  CHECK(data.train->info().vocabulary == 512);
  CHECK(sample_of(*data.train, 4)[50] == 450);
}

TEST_CASE("windows may overlap in training; validation is the end of the text, cut apart", "[data]") {
  const TemporaryDirectory directory;
  Bytes text(100);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::uint8_t>(i);
  directory.write("a.txt", text);
  const Data data = opened(directory, "file: a.txt, sequence: 5, stride: 2", "validation: 0.2");
  CHECK(data.train->size() == 38);  // the last one begins at 74, and its last label is 79
  CHECK(sample_of(*data.train, 37).front() == 74);
  CHECK(sample_of(*data.train, 37).back() == 79);
  REQUIRE(data.validation != nullptr);
  CHECK(data.validation->size() == 3);
  CHECK(sample_of(*data.validation, 0).front() == 80);
  CHECK(sample_of(*data.validation, 1).front() == 85);
  const Data part = opened(directory, "file: a.txt, sequence: 5", "fraction: 0.5, validation: 0.2");
  CHECK(part.train->size() == 7);
  CHECK(sample_of(*part.validation, 0).front() == 40);
}

TEST_CASE("bpe merges the first pair of the file wherever it is, word by word", "[data]") {
  const TemporaryDirectory directory;
  // The letter for a space is \u0120. Tokens: h 71, e 68, l 75, o 78, w 86, space 220; then the merges from
  // 256.
  directory.write("merges.txt", bytes_of("#version: 0.2\nh e\nl l\nhe ll\nhell o\n\xC4\xA0 w\n"));
  directory.write("a.txt", bytes_of("hello hell w. hhell"));
  const Data data = opened(directory, "file: a.txt, sequence: 7, tokens: bpe, merges: merges.txt");
  CHECK(data.train->info().vocabulary == 261);
  CHECK(token_texts(*data.train)[71] == "h");
  CHECK(token_texts(*data.train)[220] == " ");
  CHECK(token_texts(*data.train)[259] == "hello");
  CHECK(sample_of(*data.train, 0) ==
        std::vector<int>{259, 220, 258, 260, 13, 220, 71, 220, 258, 260, 13, 220, 71, 258});
}

TEST_CASE("bad files of merges are errors of the data that name the line", "[data]") {
  struct Bad {
    std::string merges, place, message;
  };
  const auto bad = GENERATE(
      Bad{"h e\nll\n", ":2:1", "two pieces"}, Bad{"h e\nh e l\n", ":2:1", "two pieces"},
      Bad{"h e\n\nl l\n", ":2:1", "two pieces"}, Bad{" e\n", ":1:1", "two pieces"},
      Bad{"h e\nhe ll\n", ":2:4", "no earlier line"}, Bad{"h e\nh e\n", ":2:1", "earlier line has"},
      Bad{"h \xFF\n", ":1:3", "stands for no byte"}, Bad{"h \xE2\x82\xAC\n", ":1:3", "stands for no byte"});
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of("hello"));
  directory.write("merges.txt", bytes_of(bad.merges));
  INFO(bad.merges);
  try {
    opened(directory, "file: a.txt, sequence: 1, tokens: bpe, merges: merges.txt");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::data);
    CHECK_THAT(error.diagnostics().front().text(), Catch::Contains("merges.txt" + bad.place));
    CHECK_THAT(error.diagnostics().front().text(), Catch::Contains(bad.message));
  }
}

TEST_CASE("bpe without merges, merges without bpe and absent merges are errors", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of("hello"));
  CHECK_THROWS_WITH(opened(directory, "file: a.txt, sequence: 1, tokens: bpe"),
                    Catch::Contains("go together"));
  CHECK_THROWS_WITH(opened(directory, "file: a.txt, sequence: 1, merges: b"), Catch::Contains("go together"));
  CHECK_THAT(data_error([&] { opened(directory, "file: a.txt, sequence: 1, tokens: bpe, merges: b"); }),
             Catch::Contains("b\n   = No such file"));
}

TEST_CASE("a single word of a million letters is cut into pieces in no time", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt", Bytes(1 << 20, 'a'));
  directory.write("merges.txt", bytes_of("a a\naa aa\naaaa aaaa\n"));
  const Data data = opened(directory, "file: a.txt, sequence: 100, tokens: bpe, merges: merges.txt");
  CHECK(data.train->size() == ((1 << 17) - 1) / 100);
}

TEST_CASE("lines are samples, padded to the sequence; longer ones are split", "[data]") {
  const TemporaryDirectory directory;
  // Characters: \n 0, a 1, b 2, c 3, d 4, ä 5.
  directory.write("a.txt", bytes_of("ab\n\nabcd\n\xC3\xA4\nba"));
  const std::string tokens = GENERATE("bytes", "characters");
  const Data data = opened(directory, "file: a.txt, sequence: 3, lines: true, tokens: " + tokens);
  const Dataset& lines = *data.train;
  CHECK(lines.has_lengths());
  REQUIRE(lines.size() == 5);  // the last label of `ba` is not there
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < lines.size(); ++i) lengths.push_back(lines.length(i));
  if (tokens == "bytes") {
    CHECK(lengths == std::vector<std::int64_t>{2, 3, 1, 2, 1});
    CHECK(sample_of(lines, 4) == std::vector<int>{'b', 0, 0, 'a', 0, 0});
  } else {
    CHECK(lengths == std::vector<std::int64_t>{2, 3, 1, 1, 1});
    CHECK(sample_of(lines, 0) == std::vector<int>{1, 2, 0, 2, 0, 0});
    CHECK(sample_of(lines, 2) == std::vector<int>{4, 0, 0, 0, 0, 0});
    CHECK(sample_of(lines, 3) == std::vector<int>{5, 0, 0, 0, 0, 0});
  }
}

TEST_CASE("the last lines of a text validate", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of("a\nb\nc\nd\n"));
  const Data data = opened(directory, "file: a.txt, sequence: 3, lines: true", "validation: 0.25");
  CHECK(data.train->size() == 3);
  CHECK(sample_of(*data.validation, 0) == std::vector<int>{'d', 0, 0, '\n', 0, 0});
}

TEST_CASE("packed lines share samples, each with positions of its own; so do those of each split", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of("ab\nabcd\n\nc\nxy\nz\n"));
  const auto open = [&](const std::string& more) {
    return opened(directory, "file: a.txt, sequence: 5, lines: true, pack: true", more);
  };
  const Data data = open("");
  const Dataset& rows = *data.train;
  CHECK(rows.info().is_packed);
  REQUIRE(rows.size() == 2);
  CHECK(sample_of(rows, 0) == std::vector<int>{'a', 'b', 'c', 'x', 'y', 'b', '\n', '\n', 'y', '\n'});
  CHECK(sample_of(rows, 1) == std::vector<int>{'a', 'b', 'c', 'd', 'z', 'b', 'c', 'd', '\n', '\n'});
  CHECK(rows.length(0) == 5);
  std::vector<std::int32_t> positions(5);
  rows.read_positions(1, positions);
  CHECK(positions == std::vector<std::int32_t>{0, 1, 2, 3, 0});
  const Data split = open("validation: 0.4");  // two of five lines
  CHECK(split.train->size() == 2);
  REQUIRE(split.validation->size() == 1);
  CHECK(sample_of(*split.validation, 0) == std::vector<int>{'x', 'y', 'z', 0, 0, 'y', '\n', '\n', 0, 0});
}

TEST_CASE("lines of bpe are encoded one by one, so that no token reaches beyond its line", "[data]") {
  const TemporaryDirectory directory;
  directory.write("merges.txt", bytes_of("h i\n"));
  directory.write("a.txt", bytes_of("hi hi  \n\n hi\nh"));
  const Data data =
      opened(directory, "file: a.txt, sequence: 9, tokens: bpe, merges: merges.txt, lines: true");
  const auto lines = data.train->size();
  std::string text;
  for (std::int64_t i = 0; i < lines; ++i) {
    std::vector<float> tokens(9);
    data.train->read({&i, 1}, {tokens.data(), Shape{1, 9}});
    tokens.resize(static_cast<std::size_t>(data.train->length(i)));
    for (const float token : tokens)
      text += data.train->info().tokenizer->bytes_of(static_cast<Token>(token));
    text += '|';
  }
  CHECK(text == "hi hi  | hi|");
}

TEST_CASE("lines without tokens, and packed windows, are errors", "[data]") {
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of("\n\n\n"));
  CHECK_THAT(data_error([&] { opened(directory, "file: a.txt, sequence: 3, lines: true"); }),
             Catch::Contains("no line with a token"));
  CHECK_THROWS_WITH(opened(directory, "file: a.txt, sequence: 1, pack: true"),
                    Catch::Contains("lines are packed"));
}

TEST_CASE("bad texts are errors of the data that name the place", "[data]") {
  struct Bad {
    std::string text, settings, message;
  };
  const auto bad =
      GENERATE(Bad{"", "sequence: 3", "empty"}, Bad{"abc", "sequence: 3", "shorter than a sequence"},
               Bad{"ab\xC3", "tokens: characters, sequence: 1", "a.txt:1:3"},     // cut short
               Bad{"ab\n\xA4z", "tokens: characters, sequence: 1", "a.txt:2:1"},  // begins in the middle
               Bad{"ab\n\nc\xC0\x80", "tokens: characters, sequence: 1", "a.txt:3:2"},  // longer than needed
               Bad{"a\xED\xA0\x80", "tokens: characters, sequence: 1", "a.txt:1:2"},    // a surrogate
               Bad{"a\xF4\x90\x80\x80", "tokens: characters, sequence: 1", "a.txt:1:2"},  // above 10FFFF
               Bad{"a\xFFz", "tokens: characters, sequence: 1", "the byte ff at offset 1"},
               Bad{"\xE2\x82\xAC\xE2\x82\xAC", "tokens: characters, sequence: 2", "2 characters"});
  const TemporaryDirectory directory;
  directory.write("a.txt", bytes_of(bad.text));
  INFO(bad.message);
  try {
    opened(directory, "file: a.txt, " + bad.settings);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::data);
    CHECK_THAT(error.diagnostics().front().text(), Catch::Contains(bad.message));
    CHECK_THAT(error.diagnostics().front().text(), Catch::Contains("a.txt"));
  }
}

TEST_CASE("a text that is not there, or leaves nothing to validate, is an error", "[data]") {
  const TemporaryDirectory directory;
  CHECK_THAT(data_error([&] { opened(directory, "file: b.txt, sequence: 3"); }),
             Catch::Contains("not found"));
  directory.write("a.txt", bytes_of("abcdefgh"));
  CHECK_THROWS_WITH(opened(directory, "file: a.txt, sequence: 3", "validation: 0.3"),
                    Catch::Contains("shorter than the 3 tokens"));
  CHECK_THROWS_WITH(opened(directory, "file: a.txt, sequence: 3", "normalize: per_channel"),
                    Catch::Contains("cannot be normalised"));
  CHECK_THROWS_WITH(opened(directory, "file: a.txt, sequence: 1", "mixup: 0.2"),
                    Catch::Contains("cannot be mixed"));
}

TEST_CASE("the real Shakespeare has 65 characters", "[.real-text]") {
  const std::string file = real_data("text/tinyshakespeare.txt");
  const ConfigTree tree({.file = "run.yaml",
                         .text = "data: {dataset: {text: {file: '" + file +
                                 "', tokens: characters, sequence: 128}}, validation: 0.05}"},
                        {section("data", "the data", data_settings())});
  Data data = open_data(tree.root().at("data"), 1);
  load_samples(data, *solo());
  CHECK(data.train->info().vocabulary == 65);
  const std::vector<int> first = sample_of(*data.train, 0);
  CHECK(std::vector<int>(first.begin(), first.begin() + 5) == std::vector<int>{18, 47, 56, 57, 58});  // First
}

}  // namespace trainer
