// A text, and behind a zero byte the file of merges that cuts it into pieces.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "datasets/readers/tokens.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

/// Bytes that each token stands for: a letter of the file is one byte.
std::vector<std::size_t> lengths_of(std::string_view merges, std::size_t vocabulary) {
  std::vector<std::size_t> lengths(256, 1);
  while (lengths.size() < vocabulary) {
    const std::size_t end = std::min(merges.find('\n'), merges.size());
    const std::string_view line = merges.substr(0, end);
    const bool is_header = lengths.size() == 256 && line.starts_with("#version");
    merges.remove_prefix(std::min(end + 1, merges.size()));
    if (is_header) continue;
    // Letters of one or two bytes, of which the second is counted with the first; not the space.
    const auto letters = std::ranges::count_if(line, [](char byte) {
      return byte != ' ' && byte != '\r' && (static_cast<unsigned char>(byte) & 0xC0u) != 0x80;
    });
    lengths.push_back(static_cast<std::size_t>(letters));
  }
  return lengths;
}

const FuzzTarget target{"merges", [](FuzzInput input) {
                          const std::string all = text_of(input);
                          const std::size_t border = std::min(all.find('\0'), all.size());
                          const std::string_view text = std::string_view(all).substr(0, border);
                          const std::string_view merges =
                              std::string_view(all).substr(std::min(border + 1, all.size()));
                          const TokenizedText pieces = tokens_of_byte_pairs(text, merges, "merges");
                          const auto vocabulary = static_cast<std::size_t>(pieces.vocabulary);
                          const std::vector<std::size_t> lengths = lengths_of(merges, vocabulary);
                          std::size_t bytes = 0;
                          for (const std::uint32_t token : pieces.tokens) {
                            expect(token < vocabulary, "a token is outside of its vocabulary");
                            bytes += lengths[token];
                          }
                          expect(bytes == text.size(), "the pieces are not as long as the text");
                        }};

}  // namespace
}  // namespace trainer
