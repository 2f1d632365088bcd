#include <string>
#include <vector>

#include "datasets/readers/tokenizers.h"

namespace trainer {
namespace {

constexpr int kBytes = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() {
    for (int byte = 0; byte < kBytes; ++byte) bytes_ += static_cast<char>(byte);
  }

  std::string kind() const override { return "bytes"; }
  std::string definition() const override { return ""; }
  int vocabulary() const override { return kBytes; }
  std::vector<Token> encode(std::string_view text) const override {
    std::vector<Token> tokens;
    tokens.reserve(text.size());
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  std::string_view bytes_of(Token token) const override { return {&bytes_.at(token), 1}; }

 private:
  std::string bytes_;  ///< all of them, in order
};

}  // namespace

std::unique_ptr<Tokenizer> byte_tokenizer() { return std::make_unique<ByteTokenizer>(); }

}  // namespace trainer
