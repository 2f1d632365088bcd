#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/tokenizer.h"

namespace trainer {

/// The text of training, and the settings beside `tokens`.
struct TrainingText {
  std::string_view text;
  const std::string& path;       ///< of the text, for messages
  const std::string& merges;     ///< the setting of that name, or empty
  const std::string& data_path;  ///< data.path, or empty
  const std::string& learned;    ///< what learn() gave; empty: it is to be learned here
};

/// Where the tokenizer of a run comes from, as `tokens` has it. What it makes, make_tokenizer() makes again
/// from Tokenizer::kind() and definition(). Registered as Registry<TokenizerSource>.
class TokenizerSource {
 public:
  static constexpr const char* kFamily = "tokenizer";
  virtual ~TokenizerSource() = default;
  /// Adds the files that it reads, or what it has learned, to the fingerprint. Error(data) if they do not
  /// fit.
  virtual std::unique_ptr<Tokenizer> of_text(const TrainingText& text,
                                             std::vector<std::string>& fingerprint) const = 0;
  /// Whether it learns from the text, so that one rank does so for all.
  virtual bool learns() const { return false; }
  /// What it learns, for TrainingText::learned. Error(data) if the text does not serve.
  virtual std::string learn(std::string_view /*text*/, const std::string& /*path*/) const { return ""; }
};

}  // namespace trainer
