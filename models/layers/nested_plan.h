#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/layers/plan.h"

namespace trainer {

/// Sets up the layers inside another one, in the order of forward; backward runs them in the opposite order.
/// Scratch memory of one lies over that of the others, because they never run together. The plan resumes the
/// outer layer when this object ends.
class NestedPlan {
 public:
  using Traits = Plan::Traits;

  explicit NestedPlan(Plan& plan);
  ~NestedPlan();
  NestedPlan(const NestedPlan&) = delete;
  NestedPlan& operator=(const NestedPlan&) = delete;

  /// Starts the next layer. Its name is `declared`, or `type` with a number; its learning rate is that of the
  /// outer layer unless its `config` sets one. `config` is null for a layer that no file names. Error(usage)
  /// when a declared name is taken.
  void begin_layer(const Config* config, const std::string& type, const std::string& declared);

  // Of the layer that has begun:
  const std::string& layer_name() const { return plan_.layer_.name; }
  const Traits& traits() const { return plan_.layer_.traits; }
  /// Parameters of earlier layers that it shares.
  const std::vector<Range>& shared() const { return plan_.layer_.shared; }
  const std::vector<StoredActivation>& activations() const { return plan_.layer_.activations; }
  /// Whether it has declared parameters that are not frozen.
  bool layer_learns() const;

  /// Where the next parameter begins in the flat buffer.
  std::int64_t parameter_end() const { return plan_.parameter_end_; }
  /// Elements of this many for each row of a thread.
  std::int64_t floats_of_rows(std::int64_t per_row) const { return Shape{plan_.max_rows_, per_row}.size(); }

 private:
  Plan& plan_;
  Plan::Current outer_;
  Plan::Rates outer_rates_;
  std::int64_t scratch_begin_, scratch_end_;
  std::size_t first_parameter_ = 0;
};

/// While it lives, saved memory is booked from the beginning of the region that all recomputes share: only
/// one of them computes at a time, and it fills the memory before it reads it. Not inside another one.
class RecomputedPlan {
 public:
  explicit RecomputedPlan(Plan& plan) : plan_(plan) {
    plan_.recomputes_ = true;
    plan_.recomputed_position_ = 0;
  }
  ~RecomputedPlan() { plan_.recomputes_ = false; }
  RecomputedPlan(const RecomputedPlan&) = delete;
  RecomputedPlan& operator=(const RecomputedPlan&) = delete;

 private:
  Plan& plan_;
};

/// While it lives, memory is booked for a thread's share of the rows, if `splits`.
class SplitRowsPlan {
 public:
  SplitRowsPlan(Plan& plan, bool splits) : plan_(plan), whole_{plan.max_rows_, plan.max_virtual_workers_} {
    if (splits) use(plan.split_);
  }
  ~SplitRowsPlan() { use(whole_); }
  SplitRowsPlan(const SplitRowsPlan&) = delete;
  SplitRowsPlan& operator=(const SplitRowsPlan&) = delete;

 private:
  void use(const Plan::Share& share) {
    plan_.max_rows_ = share.max_rows;
    plan_.max_virtual_workers_ = share.max_virtual_workers;
  }

  Plan& plan_;
  Plan::Share whole_;
};

}  // namespace trainer
