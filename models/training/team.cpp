#include "models/training/team.h"

#include <algorithm>

namespace trainer {

Team::Team(ThreadPool& pool, Communicator& data)
    : pool_(pool), data_(data), parts_(static_cast<std::size_t>(pool.size())) {}

void Team::sum(int worker, std::span<double> values) {
  parts_[static_cast<std::size_t>(worker)] = values;
  pool_.barrier();
  // Worker 0 is the thread that may communicate. It adds in worker order, so the same placement repeats its
  // bits.
  if (worker == 0) {
    total_.assign(values.size(), 0.0);
    for (const std::span<double> part : parts_)
      for (std::size_t i = 0; i < part.size(); ++i) total_[i] += part[i];
    data_.sum(std::span(total_));
  }
  pool_.barrier();
  std::ranges::copy(total_, values.begin());
}

}  // namespace trainer
