#pragma once

#include <cstdint>
#include <span>

#include "datasets/tokenizer.h"

namespace trainer {

/// How a token is chosen by its scores.
struct TokenChoice {
  double temperature = 0.8;  ///< of softmax(scores / temperature); 0: always the likeliest token
  std::int64_t top_k = 0;    ///< only so many of the likeliest tokens (Fan et al. 2018); 0: all
  /// Of these only the fewest likeliest ones that have this probability together (Holtzman et al. 2020).
  double top_p = 1;
};

/// The token that `uniform`, in [0, 1), chooses. Of equal scores the lower token is the likelier one.
Token choose_token(std::span<const float> scores, const TokenChoice& choice, float uniform);

}  // namespace trainer
