// A text, and behind a zero byte the files of the tokenizer that encodes it: a tokenizer.json, or behind one
// more zero byte the merges of a vocab.json. Behind a byte 1 a model of SentencePiece.
#include <algorithm>
#include <utility>

#include "datasets/readers/tokenizer_json.h"
#include "datasets/readers/tokenizers.h"
#include "engine/core/base64.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

std::unique_ptr<Tokenizer> read(const MemoryFolder& folder) {
  std::vector<std::string> files;
  return read_gpt2_tokenizer(folder.path(), files);
}

void check_tokens(const Tokenizer& tokenizer, const std::vector<Token>& tokens) {
  for (const Token token : tokens)
    expect(std::cmp_less(token, tokenizer.vocabulary()), "a token is outside of its vocabulary");
}

void read_sentencepieces(FuzzInput model) {
  const auto tokenizer = sentencepiece_tokenizer(base64(text_of(model)), "a.model");
  const std::vector<Token> tokens = tokenizer->encode("a b\nab");
  check_tokens(*tokenizer, tokens);
  static_cast<void>(tokenizer->decode(tokens));
  expect(scored_pieces(*tokenizer)->pieces.size() == static_cast<std::size_t>(tokenizer->vocabulary()),
         "a token has no piece");
}

const FuzzTarget target{"gpt2", [](FuzzInput input) {
                          if (!input.empty() && input[0] == 1) return read_sentencepieces(input.subspan(1));
                          static MemoryFolder one({"tokenizer.json"}), two({"vocab.json", "merges.txt"});
                          const auto border = std::ranges::find(input, 0);
                          const std::string text(input.begin(), border);
                          const FuzzInput files =
                              border == input.end() ? FuzzInput() : FuzzInput(border + 1, input.end());
                          const auto merges = std::ranges::find(files, 0);
                          const bool is_one = merges == files.end();
                          if (is_one) {
                            one.hold(0, files);
                          } else {
                            two.hold(0, {files.begin(), merges});
                            two.hold(1, {merges + 1, files.end()});
                          }
                          const auto tokenizer = read(is_one ? one : two);
                          const std::vector<Token> tokens = tokenizer->encode(text);
                          check_tokens(*tokenizer, tokens);
                          expect(tokenizer->decode(tokens) == text, "decoding does not restore the text");
                          const auto again = make_tokenizer(tokenizer->kind(), tokenizer->definition(), "x");
                          expect(again->encode(text) == tokens, "its definition is another tokenizer");
                          static_cast<void>(tokenizer_json(*tokenizer));
                        }};

}  // namespace
}  // namespace trainer
