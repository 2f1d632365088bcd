#include "datasets/readers/tokenizers.h"

#include "tests/datasets/files.h"

namespace trainer {
namespace {

/// The tokens of a text file as training reads them, but for the last one.
std::vector<Token> trained_tokens(const TemporaryDirectory& directory, const std::string& text,
                                  const std::string& settings, const Tokenizer*& tokenizer, Data& data) {
  directory.write("a.txt", bytes_of(text));
  data = opened("dataset: {text: {file: a.txt, sequence: 1, " + settings + "}}\npath: " + directory.path());
  tokenizer = data.train->info().tokenizer;
  std::vector<Token> tokens;
  for (std::int64_t i = 0; i < data.train->size(); ++i)
    tokens.push_back(static_cast<Token>(read_one(*data.train, i)[0]));
  return tokens;
}

}  // namespace

TEST_CASE("a prompt has the tokens that training has for the same text", "[tokens]") {
  const TemporaryDirectory directory;
  // `bc` merges before `ab`: abc is a+bc, although the token ab is as long and comes first in the text.
  directory.write("merges.txt", bytes_of("b c\na b\nbc a\n\xC4\xA0 a\n"));
  const std::string settings =
      GENERATE("tokens: bytes", "tokens: characters", "tokens: bpe, merges: merges.txt");
  const std::string text = "abc ab abca it's  a\nb bca caab abc \xE2\x82\xAC.";
  const Tokenizer* tokenizer = nullptr;
  Data data;
  std::vector<Token> tokens = trained_tokens(directory, text, settings, tokenizer, data);
  REQUIRE(tokenizer != nullptr);
  std::vector<Token> prompt = tokenizer->encode(text);
  CHECK(tokenizer->decode(prompt) == text);
  prompt.pop_back();
  CHECK(prompt == tokens);
}

TEST_CASE("pairs merge in the order of the file, not by length", "[tokens]") {
  const auto tokenizer = byte_pair_tokenizer("b c\na b\n", "merges");
  const std::vector<Token> tokens = tokenizer->encode("abc");
  REQUIRE(tokens.size() == 2);
  CHECK(tokenizer->bytes_of(tokens[0]) == "a");
  CHECK(tokenizer->bytes_of(tokens[1]) == "bc");
}

TEST_CASE("tokens of any bytes decode to the same bytes", "[tokens]") {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK(byte_tokenizer()->decode(byte_tokenizer()->encode(all)) == all);
  const auto pairs = byte_pair_tokenizer("a b\nab c\n", "merges");
  CHECK(pairs->decode(pairs->encode(all + "abcab")) == all + "abcab");
  CHECK(pairs->vocabulary() == 258);
}

TEST_CASE("a character that the training text lacks is an error that names it", "[tokens]") {
  const auto tokenizer = character_tokenizer("abc", "a.txt");
  CHECK_THROWS_WITH(tokenizer->encode("ab\xC3\xA4"), Catch::Contains("has no character `\xC3\xA4`"));
  CHECK_THROWS_WITH(tokenizer->encode("ab\xFF"), Catch::Contains("the byte ff is not part of"));
  CHECK(tokenizer->encode("").empty());
}

}  // namespace trainer
