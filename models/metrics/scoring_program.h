#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/config.h"

namespace trainer {

/// `program` of train.metrics: a program of the user that scores the predictions of an evaluation.
struct ScoringProgram {
  Config config;  ///< for messages
  std::string name;
  std::vector<std::string> command;
  std::int64_t timeout = 600;  ///< seconds

  /// Error(usage) if no such program can be started on this host.
  void check() const;
};

}  // namespace trainer
