#include "tests/fuzz/target.h"

#include <stdexcept>

#include "engine/core/error.h"
#include "engine/core/escape.h"

namespace trainer {
namespace {

std::vector<const FuzzTarget*>& targets() {
  static std::vector<const FuzzTarget*> targets;
  return targets;
}

/// A message must not be a way to write to the user's terminal, nor fill it.
void check_message(std::string_view message) {
  constexpr std::size_t kLongest = 100'000;
  expect(!message.empty() && message.size() < kLongest, "a message is empty or endless");
  expect(escaped_lines(message) == message, "a message holds control characters");
}

}  // namespace

FuzzTarget::FuzzTarget(std::string name, Run run) : name_(std::move(name)), run_(run) {
  targets().push_back(this);
}

const std::vector<const FuzzTarget*>& FuzzTarget::all() { return targets(); }

void FuzzTarget::operator()(FuzzInput input) const {
  try {
    run_(input);
  } catch (const Error& error) {
    check_message(error.what());
  }
}

std::string text_of(FuzzInput input) { return {input.begin(), input.end()}; }

void expect(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace trainer
