#pragma once

#include <memory>
#include <span>
#include <vector>

#include "datasets/dataset_info.h"
#include "engine/config/config.h"
#include "models/network/network.h"

namespace trainer {

/// The network of a model of text, which scores what follows a text as it grows. Where all layers are
/// stepwise (Layer::is_stepwise), each token is computed once, with what layers carry from token to token;
/// else the whole text each time.
///
/// A network that has parameters or memory for each position sees a window of as many tokens as a sample of
/// training. A longer prompt is cut to its last tokens. When the window is full, its newer half begins a new
/// one: the network reads it again from position 0.
class TokenScorer {
 public:
  /// `layers`: the configs of model.layers; `info`: of the training samples. Error(usage) if the network does
  /// not score tokens at each position. `whole`: computes the whole text each time in any case.
  TokenScorer(const std::vector<Config>& layers, const DatasetInfo& info, bool whole = false);

  /// For its plan and states, and to attach parameters.
  Network& network() { return *network_; }
  bool is_stepwise() const { return is_stepwise_; }
  /// Tokens that the network sees at most; 0: any number.
  std::int64_t window() const { return window_; }

  /// Begins another text.
  void begin();
  /// The scores of the token after all tokens since begin(), of which `more` are the last ones; at least one.
  /// Valid until the next call.
  std::span<const float> next(std::span<const Token> more);
  /// Positions that the network has computed in all.
  std::int64_t computed() const { return computed_; }

 private:
  ConstTensor forward(std::span<const Token> tokens, std::int64_t first_position);

  std::unique_ptr<Network> network_;
  bool is_stepwise_ = false;
  std::int64_t window_ = 0, length_ = 0, computed_ = 0;
  std::size_t vocabulary_;
  std::vector<Token> context_;  ///< that the network sees
  std::size_t known_ = 0;       ///< tokens of it whose state layers carry
};

}  // namespace trainer
