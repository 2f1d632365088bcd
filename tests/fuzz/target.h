#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trainer {

using FuzzInput = std::span<const std::uint8_t>;

/// A reader of what strangers wrote, as fuzzers call it; each tests/fuzz/NAME_fuzz.cpp defines one. A reader
/// may refuse its input with an Error. Whatever else it throws is a bug.
class FuzzTarget {
 public:
  using Run = void (*)(FuzzInput input);

  FuzzTarget(std::string name, Run run);
  FuzzTarget(const FuzzTarget&) = delete;
  FuzzTarget& operator=(const FuzzTarget&) = delete;

  /// All that are linked into this program.
  static const std::vector<const FuzzTarget*>& all();

  const std::string& name() const { return name_; }
  /// Lets nothing through but bugs.
  void operator()(FuzzInput input) const;

 private:
  std::string name_;
  Run run_;
};

/// The bytes as text.
std::string text_of(FuzzInput input);

/// Throws std::logic_error: the target found that its reader contradicts itself.
void expect(bool holds, const char* what);

}  // namespace trainer
