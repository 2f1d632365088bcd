#include <fstream>

#include "datasets/readers/tokenizers.h"
#include "engine/core/base64.h"
#include "tests/datasets/files.h"

namespace trainer {
namespace {

/// Words of a few letters in an order of chance, some of them beyond ASCII.
std::string sample_text() {
  const RandomStream random(1, "text");
  const char* const words[] = {"the", "cat", "sat", "then", "ran", "naïve", "mat", "that", "cats", "a"};
  std::string text;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    text += words[random.below(i, 10)];
    text += i % 9 == 8 ? "\n" : i % 31 == 0 ? "  " : " ";
  }
  return text;
}

Data opened_text(const TemporaryDirectory& directory, const std::string& tokens, const std::string& text) {
  directory.write("a.txt", bytes_of(text));
  return opened("dataset: {text: {file: a.txt, sequence: 4, tokens: " + tokens +
                "}}\npath: " + directory.path());
}

}  // namespace

TEST_CASE("a vocabulary of SentencePiece is learned of the text and loses nothing of any text", "[tokens]") {
  const std::string model = GENERATE("bpe", "unigram");
  const TemporaryDirectory directory;
  const std::string text = sample_text(),
                    settings = "{sentencepiece: {vocabulary: 290, model: " + model + "}}";
  const Data data = opened_text(directory, settings, text);
  const Tokenizer& tokenizer = *data.train->info().tokenizer;
  CHECK(tokenizer.vocabulary() == 290);
  CHECK(tokenizer.encode(text).size() < text.size() / 2);
  for (const std::string& other :
       {text, std::string("  zebra \n\n\t漢字\r\nthe  "), std::string("\n"), std::string()})
    CHECK(tokenizer.decode(tokenizer.encode(other)) == other);
  CHECK_THROWS_WITH(tokenizer.encode("a\xFF"), Catch::Contains("not UTF-8"));
  // The same again, from what a checkpoint keeps.
  const Data again = opened_text(directory, settings, text);
  CHECK(again.fingerprint == data.fingerprint);
  CHECK(again.train->info().tokenizer->definition() == tokenizer.definition());
  const auto kept = make_tokenizer(tokenizer.kind(), tokenizer.definition(), "data.json");
  CHECK(kept->encode(text) == tokenizer.encode(text));
}

TEST_CASE("tokens are the ids that SentencePiece's own tool gives the lines", "[tokens]") {
  const char* const tool = std::getenv("TRAINER_SPM_ENCODE");
  if (!tool || !*tool) return;
  const TemporaryDirectory directory;
  const std::string text = sample_text() + " odd  words, zebra\nÄ\n";
  const Data data = opened_text(directory, "{sentencepiece: {vocabulary: 290, model: unigram}}", text);
  const Tokenizer& tokenizer = *data.train->info().tokenizer;
  std::ofstream(directory.path() + "/m.model", std::ios::binary) << *bytes_of_base64(tokenizer.definition());
  const std::string command = std::string(tool) + " --model=" + directory.path() +
                              "/m.model --output_format=id < " + directory.path() + "/a.txt > " +
                              directory.path() + "/ids";
  REQUIRE(std::system(command.c_str()) == 0);
  std::ifstream ids(directory.path() + "/ids");
  std::string line;
  std::vector<Token> expected;
  const Token newline = tokenizer.encode("\n").front();
  while (std::getline(ids, line)) {
    std::istringstream numbers(line);
    for (Token token; numbers >> token;) expected.push_back(token);
    expected.push_back(newline);
  }
  CHECK(tokenizer.encode(text) == expected);
}

TEST_CASE("a ready model is read from its file, and a space that it puts in front is there once",
          "[tokens]") {
  const TemporaryDirectory directory;
  const std::string text = sample_text();
  const Data learned = opened_text(directory, "{sentencepiece: 290}", text);
  const std::string model = *bytes_of_base64(learned.train->info().tokenizer->definition());
  directory.write("own.model", bytes_of(model));
  const Data same = opened_text(directory, "{sentencepiece: {file: own.model}}", text);
  CHECK(same.train->info().tokenizer->encode(text) == learned.train->info().tokenizer->encode(text));
  CHECK(same.fingerprint.size() == 2);
  // As Llama's: normalizer_spec {add_dummy_prefix: true}.
  directory.write("llama.model", bytes_of(model + "\x1a\x02\x18\x01"));
  const Data llama = opened_text(directory, "{sentencepiece: {file: llama.model}}", text);
  const Tokenizer& tokenizer = *llama.train->info().tokenizer;
  const std::string lines = "the cat\nsat\n";
  CHECK(tokenizer.decode(tokenizer.encode(lines)) == " " + lines);
  CHECK(tokenizer.encode(lines) == learned.train->info().tokenizer->encode(" " + lines));
  CHECK_THROWS_WITH(opened_text(directory, "{sentencepiece: {file: a.txt}}", text),
                    Catch::Contains("not a model of SentencePiece"));
  CHECK_THROWS_WITH(opened_text(directory, "{sentencepiece: {file: none.model}}", text),
                    Catch::Contains("none.model"));
  // nmt_nfkc, SentencePiece's own default, changes characters: normalizer_spec {remove_extra_whitespaces:
  // true}.
  directory.write("other.model", bytes_of(model + std::string("\x1a\x02\x20\x01", 4)));
  CHECK_THROWS_WITH(opened_text(directory, "{sentencepiece: {file: other.model}}", text),
                    Catch::Contains("loses parts of texts"));
}

TEST_CASE("pieces of a byte-pair model have their scores and types", "[tokens]") {
  using Type = ScoredPieces::Type;
  const TemporaryDirectory directory;
  const Data learned = opened_text(directory, "{sentencepiece: 290}", sample_text());
  const Tokenizer& tokenizer = *learned.train->info().tokenizer;
  const ScoredPieces own = *scored_pieces(tokenizer);
  CHECK(own.is_byte_pair);
  CHECK_FALSE((own.adds_space || own.begin || own.end || own.padding));
  REQUIRE(own.pieces.size() == 290);
  CHECK(own.pieces[own.unknown].type == Type::unknown);
  CHECK(own.pieces[256].text == "<0xFF>");
  for (Token token = 1; token < 290; ++token) {
    CHECK(own.pieces[token].type == (token <= 256 ? Type::byte : Type::normal));
    // The earlier a pair was found, the earlier it is merged.
    if (token > 257) CHECK(own.pieces[token].score < own.pieces[token - 1].score);
  }

  // pieces {piece, type}: the end of a text, a user-defined piece, one that is not in use; add_dummy_prefix.
  const std::string more(
      "\x0a\x08\x0a\x04</s>\x18\x03\x0a\x07\x0a\x03<x>\x18\x04\x0a\x07\x0a\x03<y>\x18\x05\x1a\x02\x18\x01");
  const auto llama =
      sentencepiece_tokenizer(base64(*bytes_of_base64(tokenizer.definition()) + more), "llama.model");
  const ScoredPieces others = *scored_pieces(*llama);
  CHECK((others.is_byte_pair && others.adds_space));
  CHECK(others.end == Token{290});
  CHECK(others.pieces.at(290).type == Type::control);
  CHECK(others.pieces.at(291).type == Type::user_defined);
  CHECK(others.pieces.at(292).type == Type::unused);
  CHECK(others.pieces.at(280).type == Type::normal);

  const Data unigram =
      opened_text(directory, "{sentencepiece: {vocabulary: 290, model: unigram}}", sample_text());
  CHECK_FALSE(scored_pieces(*unigram.train->info().tokenizer)->is_byte_pair);
  CHECK_FALSE(scored_pieces(*byte_tokenizer()));
}

TEST_CASE("texts and models that do not serve are errors of the data", "[tokens]") {
  const TemporaryDirectory directory;
  const auto open = [&](const std::string& text, const std::string& size) {
    opened_text(directory, "{sentencepiece: " + size + "}", text);
  };
  CHECK_THROWS_WITH(open("too little text for so many pieces", "4096"),
                    Catch::Contains("SentencePiece cannot make the vocabulary of this text"));
  CHECK_THROWS_WITH(open("\n\n\n\n\n\n\n\n", "300"), Catch::Contains("SentencePiece cannot make"));
  CHECK_THROWS_WITH(open("a\xFFz", "300"), Catch::Contains("not UTF-8"));
  CHECK_THROWS_WITH(sentencepiece_tokenizer("?", "x"), Catch::Contains("not base64"));
  CHECK_THROWS_WITH(sentencepiece_tokenizer(base64("no model"), "x"),
                    Catch::Contains("not a model of SentencePiece"));
  // pieces {piece: "\0"}, of which no trie can be made.
  const TemporaryDirectory own;
  const Data learned = opened_text(own, "{sentencepiece: {vocabulary: 290, model: unigram}}", sample_text());
  const std::string model = *bytes_of_base64(learned.train->info().tokenizer->definition());
  CHECK_THAT(data_error([&] {
               sentencepiece_tokenizer(base64(model + std::string("\x0a\x03\x0a\x01\x00", 5)), "x.model");
             }),
             Catch::Contains("not a model of SentencePiece") && Catch::Contains("x.model"));
}

TEST_CASE("base64 gives bytes back and refuses what is none", "[tokens]") {
  CHECK(base64("foob") == "Zm9vYg==");
  for (const char* text : {"", "f", "fo", "foo", "foob", "fooba", "foobar"})
    CHECK(bytes_of_base64(base64(text)) == text);
  for (const char* text : {"Z", "Zm9", "Z===", "Zm9*", "===="}) CHECK(!bytes_of_base64(text));
}

}  // namespace trainer
