#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace trainer {

/// Arrays as large as the flat parameters, each of which one data rank has as a whole: optimizer states of
/// virtual workers that train by themselves. Checkpoints keep them beside those of the optimizer shards.
class HostedStates {
 public:
  virtual ~HostedStates() = default;
  /// Their names in checkpoints, the same on all ranks.
  virtual const std::vector<std::string>& names() const = 0;
  /// The data rank that has it.
  virtual int host(std::size_t state) const = 0;
  /// Empty on other ranks.
  virtual std::span<float> values(std::size_t state) = 0;
};

}  // namespace trainer
