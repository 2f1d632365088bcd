#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "datasets/readers/text_windows.h"
#include "datasets/readers/tokenizers.h"
#include "engine/config/registry.h"
#include "engine/core/random.h"

namespace trainer {
namespace {

/// Sentences of a small grammar, the same on every machine.
std::string composed_text() {
  constexpr std::int64_t kSentences = 5000;
  using Words = std::array<std::string_view, 8>;
  constexpr Words kAdjectives{"old", "small", "quiet", "red", "young", "proud", "slow", "bright"},
      kNouns{"farmer", "sailor", "horse", "teacher", "river", "painter", "tower", "child"},
      kVerbs{"sees", "follows", "finds", "remembers", "leaves", "draws", "greets", "carries"},
      kPlaces{"at night",   "in the garden",  "near the sea",   "every morning",
              "in a dream", "by the harbour", "without a word", "before winter"};
  const RandomStream choices(1, "sentences");
  std::uint64_t index = 0;
  const auto any = [&](const Words& words) { return words[choices.below(index++, words.size())]; };
  std::string text;
  for (std::int64_t i = 0; i < kSentences; ++i) {
    for (const std::string_view part :
         {std::string_view("The "), any(kAdjectives), std::string_view(" "), any(kNouns),
          std::string_view(" "), any(kVerbs), std::string_view(" the "), any(kNouns), std::string_view(" "),
          any(kPlaces)})
      text += part;
    text += ".\n";
  }
  return text;
}

/// The composed text, whose tokens are its characters.
class Sentences final : public TextWindows {
 public:
  Sentences(const Cut& cut, std::unique_ptr<Tokenizer> tokenizer, std::string text)
      : TextWindows(cut, *tokenizer, memory_), tokenizer_(std::move(tokenizer)), text_(std::move(text)) {}

  std::int64_t stored_bytes() const override { return cut().last; }
  void fill(std::span<std::uint8_t> memory) override {
    std::ranges::transform(tokenizer_->encode(text_), memory.begin(),
                           [](Token token) { return static_cast<std::uint8_t>(token); });
  }
  void attach(std::span<std::uint8_t> memory) override {
    memory_.emplace(memory, token_width(info().vocabulary));
  }

 private:
  std::optional<StoredTokens> memory_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::string text_;
};

class SentencesReader final : public Reader {
 public:
  explicit SentencesReader(const Config& config) : sequence_(config.get<std::int64_t>("sequence")) {}
  bool missing(std::vector<std::string>&) const override { return false; }
  DataSource open() override {
    std::string text = composed_text();
    auto tokenizer = character_tokenizer(text, "sentences");
    const TextWindows::Cut cut{
        .first = 0, .last = std::ssize(text), .length = sequence_, .stride = sequence_};
    return {.name = "sentences",
            .train = std::make_unique<Sentences>(cut, std::move(tokenizer), std::move(text)),
            .test = nullptr,
            .fingerprint = {"sentences, version 1"},
            .form = {.has_pixels = false}};
  }

 private:
  std::int64_t sequence_;
};

const Registry<Reader, const ReaderContext&>::Add sentences_reader{
    {.name = "sentences",
     .help = "a text of 5,000 sentences that the program composes, by characters; needs no file",
     .primary = "sequence",
     .settings = {integer("sequence", "tokens of a sample").at_least(1).at_most(10000)}},
    [](const Config& config, const ReaderContext&) { return std::make_unique<SentencesReader>(config); }};

}  // namespace
}  // namespace trainer
