#include "models/prediction/text_generator.h"

#include <algorithm>

#include "engine/core/random.h"
#include "models/checkpoints/weights.h"
#include "models/prediction/generated_text.h"
#include "models/prediction/own_statistics.h"

namespace trainer {

struct TextGenerator::Worker {
  Worker(const Config& root, const DatasetInfo& info) : scorer(root.at("model").items("layers"), info) {}

  TokenScorer scorer;
  OwnStatistics statistics;
};

TextGenerator::TextGenerator(const Config& root, const DataDescription& data, int workers)
    : absent_(absent_data(data, "the description of the data")) {
  for (int worker = 0; worker < workers; ++worker)
    workers_.push_back(std::make_unique<Worker>(root, absent_.train->info()));
}

TextGenerator::~TextGenerator() = default;

void TextGenerator::load(const std::filesystem::path& weights) {
  Network& first = workers_.front()->scorer.network();
  values_.resize(static_cast<std::size_t>(first.plan().parameter_end()));
  load_weights(weights.string(), first.plan(), values_, first.states());
  for (const auto& worker : workers_) {
    Network& network = worker->scorer.network();
    if (worker != workers_.front()) std::ranges::copy(first.states(), network.states().begin());
    network.attach(values_, {{}, worker->statistics});
  }
}

void TextGenerator::generate(int worker, std::span<const Token> prompt, std::uint64_t number,
                             const Continuation& continuation,
                             const std::function<void(std::string_view)>& take) {
  TokenScorer& scorer = workers_[static_cast<std::size_t>(worker)]->scorer;
  const RandomStream random(continuation.seed, "generate", number);
  GeneratedText text(continuation.stops);
  const auto give = [&](const std::string& piece) {
    if (!piece.empty()) take(piece);
  };
  scorer.begin();
  std::span<const float> scores = scorer.next(prompt);
  for (std::int64_t i = 0; i < continuation.tokens && !text.stopped(); ++i) {
    const Token token =
        choose_token(scores, continuation.choice, random.uniform(static_cast<std::uint64_t>(i)));
    give(text.add(tokenizer().bytes_of(token)));
    if (i + 1 < continuation.tokens && !text.stopped()) scores = scorer.next(std::span(&token, 1));
  }
  give(text.end());
}

}  // namespace trainer
