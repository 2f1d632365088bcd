#include "models/prediction/token_scorer.h"

#include <algorithm>
#include <array>

namespace trainer {
namespace {

/// The positions of a prompt that are computed together.
constexpr std::int64_t kRows = 32;
/// Layers that keep a state between batches begin anew.
constexpr std::array<std::int64_t, kRows> kSampleZero{};

}  // namespace

TokenScorer::TokenScorer(const std::vector<Config>& layers, const DatasetInfo& info, bool whole)
    : network_(std::make_unique<Network>(layers, info.sample, Network::Options{})),
      length_(info.sample[0]),
      vocabulary_(static_cast<std::size_t>(info.vocabulary)) {
  if (network_->output() != Shape{length_, info.vocabulary})
    throw Error(ExitCode::usage, "the model does not score what follows each token of a text");
  window_ = length_;
  if (whole || !network_->layers().is_stepwise()) return;
  is_stepwise_ = true;
  network_ =
      std::make_unique<Network>(layers, Shape{1}, Network::Options{.batch = kRows, .positions = length_});
  if (!network_->plan().limits_positions()) window_ = 0;
}

void TokenScorer::begin() {
  context_.clear();
  known_ = 0;
}

std::span<const float> TokenScorer::next(std::span<const Token> more) {
  const bool begins = context_.empty();
  context_.insert(context_.end(), more.begin(), more.end());
  if (window_ > 0 && std::ssize(context_) > window_) {
    const std::int64_t kept = begins ? window_ : std::max<std::int64_t>(window_ / 2, 1);
    context_.erase(context_.begin(), context_.end() - kept);
    known_ = 0;
  }
  const std::span<const Token> context = context_;
  if (!is_stepwise_) {
    const ConstTensor y = forward(context, 0);
    return y.span().subspan((context.size() - 1) * vocabulary_, vocabulary_);
  }
  ConstTensor y;
  while (known_ < context.size()) {
    const std::size_t rows = std::min<std::size_t>(context.size() - known_, kRows);
    y = forward(context.subspan(known_, rows), static_cast<std::int64_t>(known_));
    known_ += rows;
  }
  return y.span().last(vocabulary_);
}

ConstTensor TokenScorer::forward(std::span<const Token> tokens, std::int64_t first_position) {
  constexpr int kWorker = 0;
  const std::int64_t rows = is_stepwise_ ? std::ssize(tokens) : 1;
  const Tensor x = network_->input(kWorker, rows);
  std::ranges::fill(x.span(), 0.0f);
  std::ranges::transform(tokens, x.data(), [](Token token) { return static_cast<float>(token); });
  computed_ += x.size();
  const auto length = static_cast<std::int32_t>(tokens.size());
  Network::Rows all{.mode = Mode::evaluation,
                    .samples = std::span(kSampleZero).first(static_cast<std::size_t>(rows)),
                    .batch_rows = rows,
                    .first_position = first_position};
  if (!is_stepwise_) all.lengths = std::span(&length, 1);
  return network_->forward(kWorker, all);
}

}  // namespace trainer
