// A text whose tokens are characters.
#include <utility>
#include <vector>

#include "datasets/readers/tokens.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{"text", [](FuzzInput input) {
                          const TokenizedText text = tokens_of_characters(text_of(input), "text");
                          expect(text.tokens.size() <= input.size(), "a text has more characters than bytes");
                          std::vector<bool> met(static_cast<std::size_t>(text.vocabulary));
                          for (const std::uint32_t token : text.tokens) {
                            expect(token < met.size(), "a token is outside of its vocabulary");
                            met[token] = true;
                          }
                          for (const bool is_met : met)
                            expect(is_met, "a character of the vocabulary is not in the text");
                        }};

}  // namespace
}  // namespace trainer
