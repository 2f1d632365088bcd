#pragma once

#include <thread>

namespace trainer {

/// In a rank: writes a line for the launching program every few seconds, as long as the object lives.
class RankHeartbeat {
 public:
  RankHeartbeat();

 private:
  std::jthread thread_;
};

}  // namespace trainer
