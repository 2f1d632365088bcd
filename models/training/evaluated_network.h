#pragma once

#include <optional>
#include <span>

#include "models/training/batch_statistics.h"
#include "models/training/session.h"

namespace trainer {

/// Gives a session's network parameters for evaluation alone.
class EvaluatedNetwork {
 public:
  /// `values`: all parameters of this rank, flat. Both outlive this object. Collective.
  EvaluatedNetwork(Session& session, std::span<const float> values)
      : statistics_(session.mesh(), session.pool(), true, session.virtual_workers()) {
    Network& network = session.network();
    if (network.splits_rows())
      split_statistics_.emplace(session.mesh().as_data_ranks(), session.pool(), true,
                                network.split_workers());
    const Network::Sums split{{}, split_statistics_ ? *split_statistics_ : statistics_};
    network.attach(values, {{}, statistics_}, &split);
  }

 private:
  BatchStatistics statistics_;
  std::optional<BatchStatistics> split_statistics_;  ///< of layers that split rows
};

}  // namespace trainer
