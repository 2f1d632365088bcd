#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/sentencepiece/scored_pieces.h"
#include "datasets/tokenizer.h"

namespace trainer {

/// What the module libtrainer-text.so does.
struct SentencePieceFunctions {
  struct Vocabulary {
    int size = 0;          ///< tokens
    bool unigram = false;  ///< unigram language model (Kudo 2018); else byte-pair encoding
  };
  /// The model of a vocabulary that is trained on these lines. The same lines give the same bytes.
  /// Error(data) without a place if they do not serve.
  std::string (*train)(const std::vector<std::string_view>& lines, const Vocabulary& vocabulary);
  /// Error(data) without a place if `model` is none.
  std::unique_ptr<Tokenizer> (*open)(const std::string& model);
  /// Error(data) without a place if `model` is none.
  ScoredPieces (*pieces)(const std::string& model);
};

}  // namespace trainer

extern "C" const trainer::SentencePieceFunctions* trainer_sentencepiece_functions();
