#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "datasets/readers/tokenizer_json.h"
#include "datasets/readers/tokenizers.h"
#include "datasets/readers/word_splitter.h"
#include "tests/datasets/files.h"

namespace trainer {
namespace {

using nlohmann::json;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  WordSplitter().split(text, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

const std::string kMerges = "#version: 0.2\nh e\nl l\nhe ll\nhell o\nĠ hello\nĠ w\n";

/// The 256 letters of bytes and the pieces of kMerges, in an order of their own, then a special text.
json vocabulary() {
  json vocabulary;
  const auto tokens = byte_pair_tokenizer(kMerges, "merges");
  std::vector<std::string> letters(256);
  const auto letter = [](unsigned code) {
    return code < 128
               ? std::string(1, static_cast<char>(code))
               : std::string{static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  };
  unsigned others = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool prints = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    letters[byte] = letter(prints ? byte : others++);
  }
  for (Token token = 0; token < 262; ++token) {
    std::string piece;
    for (const char byte : tokens->bytes_of(token)) piece += letters[static_cast<unsigned char>(byte)];
    vocabulary[piece] = 261 - token;
  }
  vocabulary["<|endoftext|>"] = 262;
  return vocabulary;
}

json tokenizer_json() {
  json added{{"id", 262}, {"content", "<|endoftext|>"}};
  json plain = vocabulary();
  plain.erase("<|endoftext|>");
  return {{"added_tokens", {added}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"model",
           {{"type", "BPE"},
            {"vocab", plain},
            {"merges", json::array({"h e", json::array({"l", "l"}), "he ll", "hell o", "Ġ hello", "Ġ w"})}}}};
}

}  // namespace

TEST_CASE("words are split as GPT-2 does, by the classes of Unicode", "[tokens]") {
  using Words = std::vector<std::string>;
  CHECK(words_of("Hello world's 12 e.g.  x") ==
        Words{"Hello", " world", "'s", " 12", " e", ".", "g", ".", " ", " x"});
  CHECK(words_of("we'll I'M don't\n\n  a \n") ==
        Words{"we", "'ll", " I", "'", "M", " don", "'t", "\n\n ", " a", " \n"});
  // Letters and numbers of other scripts, a fraction, a combining mark, an ideographic space.
  CHECK(words_of("naïve Ωmega 漢字 ½Ⅻ e\u0301 x\u3000y \u0664\u0665") ==
        Words{"naïve", " Ωmega", " 漢字", " ½Ⅻ", " e", "\u0301", " x", "\u3000", "y", " \u0664\u0665"});
  CHECK(words_of("a\xFF\xC3 b") == Words{"a", "\xFF", "\xC3", " b"});
  CHECK(words_of("").empty());
}

TEST_CASE("a vocabulary gives pieces their tokens, and special texts are tokens", "[tokens]") {
  const std::string definition = json{{"vocab", vocabulary()}, {"merges", kMerges}}.dump();
  const auto tokenizer = gpt2_tokenizer(definition, "vocab.json");
  CHECK(tokenizer->vocabulary() == 263);
  // hello 259, " hello" 260, " w" 261 in the order of the merges.
  CHECK(tokenizer->encode("hello hello w<|endoftext|>") == std::vector<Token>{2, 1, 0, 262});
  std::string all = "hello<|endoftext|> <|endof";
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(tokenizer->decode(tokenizer->encode(all)) == all);
  const auto again = make_tokenizer(tokenizer->kind(), tokenizer->definition(), "x");
  CHECK(again->encode(all) == tokenizer->encode(all));
}

TEST_CASE("a text of all scripts has the tokens that another implementation gives it", "[tokens]") {
  const TemporaryDirectory directory;
  const char* const reference = std::getenv("TRAINER_GPT2_REFERENCE");
  if (!reference) return;
  REQUIRE(std::system(("python3 " + std::string(reference) + " " + directory.path()).c_str()) == 0);
  std::vector<std::string> files;
  const auto tokenizer = read_gpt2_tokenizer(directory.path(), files);
  std::ifstream text(directory.path() + "/a.txt", std::ios::binary), ids(directory.path() + "/ids");
  const std::string all{std::istreambuf_iterator<char>(text), {}};
  const std::vector<Token> expected{std::istream_iterator<Token>(ids), {}};
  REQUIRE(expected.size() > 10'000);
  CHECK(tokenizer->encode(all) == expected);
}

TEST_CASE("both forms of Hugging Face's files are one tokenizer", "[tokens]") {
  const TemporaryDirectory one, two;
  one.write("vocab.json", bytes_of(vocabulary().dump()));
  one.write("merges.txt", bytes_of(kMerges));
  two.write("tokenizer.json", bytes_of(tokenizer_json().dump()));
  std::vector<std::string> files;
  const auto first = read_gpt2_tokenizer(one.path(), files);
  CHECK(files.size() == 2);
  const auto second = read_gpt2_tokenizer(two.path(), files);
  CHECK(files.size() == 1);
  const std::string text = "hello well, hell<|endoftext|> who";
  CHECK(first->encode(text) == second->encode(text));
  one.write("a.txt", bytes_of(text));
  const Data data =
      opened("dataset: {text: {file: a.txt, sequence: 2, tokens: {gpt2: .}}}\npath: " + one.path());
  CHECK(data.train->info().tokenizer->encode(text) == first->encode(text));
  CHECK(data.fingerprint.size() == 3);
}

TEST_CASE("files of tokenizers of another form, or damaged ones, are errors of the data", "[tokens]") {
  const TemporaryDirectory directory;
  std::vector<std::string> files;
  const auto message = [&](const std::string& text) {
    directory.write("tokenizer.json", bytes_of(text));
    try {
      read_gpt2_tokenizer(directory.path(), files);
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::data);
      return error.diagnostics().front().text();
    }
    return std::string("no error");
  };
  const auto changed = [](const char* path, const json& value) {
    json all = tokenizer_json();
    all[json::json_pointer(path)] = value;
    return all.dump();
  };
  CHECK_THROWS_WITH(read_gpt2_tokenizer(directory.path(), files), Catch::Contains("it holds no tokenizer"));
  CHECK_THAT(message(""), Catch::Contains("not a tokenizer's file"));
  CHECK_THAT(message("[1]"), Catch::Contains("not a tokenizer's file"));
  CHECK_THAT(message(tokenizer_json().dump().substr(0, 500)), Catch::Contains("not a tokenizer's file"));
  CHECK_THAT(message(changed("/model/type", "WordPiece")), Catch::Contains("its model is not BPE"));
  CHECK_THAT(message(changed("/normalizer", {{"type", "NFC"}})), Catch::Contains("it normalizes"));
  CHECK_THAT(message(changed("/pre_tokenizer", {{"type", "Metaspace"}})), Catch::Contains("not ByteLevel"));
  CHECK_THAT(message(changed("/pre_tokenizer/add_prefix_space", true)), Catch::Contains("adds a space"));
  CHECK_THAT(message(changed("/model/merges/0", "h x")), Catch::Contains("no earlier line makes"));
  CHECK_THAT(message(changed("/model/merges/0", 5)), Catch::Contains("not a tokenizer's file"));
  CHECK_THAT(message(changed("/model/vocab/h", -1)), Catch::Contains("has the token -1"));
  CHECK_THAT(message(changed("/model/vocab/h", 1e9)), Catch::Contains("has the token"));
  CHECK_THAT(message(changed("/model/vocab/h", 1e300)), Catch::Contains("has the token 1e+300"));
  CHECK_THAT(message(changed("/model/vocab/h", 5)), Catch::Contains("have the token 5"));
  CHECK_THAT(message(changed("/model/vocab/h", 5.5)), Catch::Contains("has the token 5.5"));
  CHECK_THAT(message(changed("/model/vocab/h", true)), Catch::Contains("not a tokenizer's file"));
  json lacks = tokenizer_json();
  lacks["model"]["vocab"].erase("hell");
  CHECK_THAT(message(lacks.dump()), Catch::Contains("the vocabulary lacks `hell`"));
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  CHECK_THAT(message(R"({"model": )" + deep + "}"), Catch::Contains("not a tokenizer's file"));
  std::filesystem::remove(directory.path() + "/tokenizer.json");
  directory.write("vocab.json", bytes_of(R"({"a": )" + deep + "}"));
  directory.write("merges.txt", bytes_of(kMerges));
  CHECK_THAT(data_error([&] { read_gpt2_tokenizer(directory.path(), files); }),
             Catch::Contains("vocab.json") && Catch::Contains("nested too deeply"));
}

TEST_CASE("a written tokenizer.json gives every text the tokens of its tokenizer", "[tokens]") {
  const std::string text = "hello hello<|endoftext|> wörld\n\t hell \x01";
  const json definition{{"vocab", vocabulary()}, {"merges", kMerges}};
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  tokenizers.push_back(byte_tokenizer());
  tokenizers.push_back(character_tokenizer(text, "text"));
  tokenizers.push_back(byte_pair_tokenizer(kMerges, "merges"));
  tokenizers.push_back(gpt2_tokenizer(definition.dump(), "vocab.json"));
  for (const auto& tokenizer : tokenizers) {
    INFO(tokenizer->kind());
    const TemporaryDirectory folder;
    const auto written = trainer::tokenizer_json(*tokenizer);
    REQUIRE(written);
    folder.write("tokenizer.json", bytes_of(*written));
    std::vector<std::string> files;
    const auto again = read_gpt2_tokenizer(folder.path(), files);
    CHECK(again->vocabulary() == tokenizer->vocabulary());
    CHECK(again->encode(text) == tokenizer->encode(text));
    CHECK(*trainer::tokenizer_json(*again) == *written);
  }
}

TEST_CASE("a tokenizer.json of words is read if each is a character, in the order of code points",
          "[tokens]") {
  const json characters = json::parse(*trainer::tokenizer_json(*character_tokenizer("b\nä a", "text")));
  const TemporaryDirectory directory;
  std::vector<std::string> files;
  const auto read = [&](const char* path, const json& value) {
    json all = characters;
    all[json::json_pointer(path)] = value;
    directory.write("tokenizer.json", bytes_of(all.dump()));
    return read_gpt2_tokenizer(directory.path(), files);
  };
  CHECK(read("/version", "1.0")->encode("ä\n") == std::vector<Token>{4, 0});
  for (const auto& [path, value] : {std::pair<const char*, json>{"/model/vocab/ab", 5},
                                    {"/model/vocab/a", 7},
                                    {"/model/vocab/z", 1},
                                    {"/normalizer", {{"type", "NFC"}}},
                                    {"/added_tokens", {{{"id", 5}, {"content", "<unk>"}}}},
                                    {"/pre_tokenizer", {{"type", "Split"}, {"pattern", {{"Regex", "."}}}}}}) {
    INFO(path);
    CHECK_THROWS_WITH(read(path, value), Catch::Contains("but not of single characters"));
  }
}

}  // namespace trainer
