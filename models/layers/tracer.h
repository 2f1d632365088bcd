#pragma once

#include <span>

#include "models/graph/graph.h"
#include "models/graph/operations.h"
#include "models/layers/plan.h"

namespace trainer {

/// The interface of a layer to a graph in trace(): parameters and states become constants under the names
/// and in the layout of checkpoints.
class Tracer {
 public:
  /// `values` and `states`: of one process, as Network has them. `has_padding`: sequences may end before
  /// their last position.
  Tracer(const Plan& plan, std::span<const float> values, std::span<const float> states, bool has_padding,
         Graph& target)
      : graph(target), plan_(plan), values_(values), states_(states), has_padding_(has_padding) {}

  /// For a layer whose outputs would depend on padding: Error(usage) if there may be any, since a graph does
  /// not know where a sequence ends.
  void require_no_padding() const;

  const Parameter& declared(ParameterId id) const { return plan_.parameter(id); }
  /// In the layout of files.
  std::vector<float> values(ParameterId id) const;
  Value parameter(ParameterId id) const;
  /// The same elements under other extents.
  Value parameter(ParameterId id, Extents extents) const;
  Value state(StateId id) const;

  Graph& graph;

 private:
  const Plan& plan_;
  std::span<const float> values_, states_;
  bool has_padding_;
};

}  // namespace trainer
