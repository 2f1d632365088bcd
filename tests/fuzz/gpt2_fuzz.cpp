// A text, and behind a zero byte the definition of the tokenizer that encodes it.
#include <algorithm>

#include "datasets/readers/tokenizers.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"gpt2", [](FuzzInput input) {
                          const std::string all = text_of(input);
                          const std::size_t border = std::min(all.find('\0'), all.size());
                          const std::string_view text = std::string_view(all).substr(0, border);
                          const auto tokenizer = gpt2_tokenizer(
                              std::string_view(all).substr(std::min(border + 1, all.size())), "vocab.json");
                          const std::vector<Token> tokens = tokenizer->encode(text);
                          const auto vocabulary = static_cast<Token>(tokenizer->vocabulary());
                          for (const Token token : tokens)
                            expect(token < vocabulary, "a token is outside of its vocabulary");
                          expect(tokenizer->decode(tokens) == text, "decoding does not restore the text");
                        }};

}  // namespace
}  // namespace trainer
