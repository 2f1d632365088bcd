#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "engine/core/error.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// An exception as the user sees it.
struct Failure {
  ExitCode code = ExitCode::failure;
  std::string text;  ///< "error: ...", without a final newline
};

/// The exception being handled; call inside a catch.
Failure current_failure();

/// A failure that all ranks know. Only rank 0 has the text and prints it.
class CollectiveError : public std::runtime_error {
 public:
  explicit CollectiveError(const Failure& failure) : std::runtime_error(failure.text), code(failure.code) {}
  ExitCode code;
};

/// Runs `work`, which makes no collective call, on every rank. If it throws on any rank, all ranks throw a
/// CollectiveError with the message of the lowest failing rank. Collective.
void run_collectively(Communicator& world, const std::function<void()>& work);

/// For an exception that nothing else handles: the rank that has the message prints it, and all ranks end.
/// Call inside a catch.
[[noreturn]] void end_after_failure(Communicator& world);

}  // namespace trainer
