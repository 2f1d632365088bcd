// A text whose tokens are characters.
#include <utility>
#include <vector>

#include "datasets/readers/tokenizers.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"text", [](FuzzInput input) {
                          const std::string text = text_of(input);
                          const auto tokenizer = character_tokenizer(text, "text");
                          const std::vector<Token> tokens = tokenizer->encode(text);
                          expect(tokens.size() <= text.size(), "a text has more characters than bytes");
                          expect(tokenizer->decode(tokens) == text, "decoding does not restore the text");
                          std::vector<bool> met(static_cast<std::size_t>(tokenizer->vocabulary()));
                          for (const Token token : tokens) {
                            expect(token < met.size(), "a token is outside of its vocabulary");
                            met[token] = true;
                          }
                          for (const bool is_met : met)
                            expect(is_met, "a character of the vocabulary is not in the text");
                        }};

}  // namespace
}  // namespace trainer
