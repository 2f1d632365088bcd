#pragma once

#include "models/optimizers/optimizer.h"

namespace trainer {

/// An update rule in steps for a part of a batch: a share s of a step takes s of its change in values and
/// states. So 1/s updates with the same gradient end near the step of the whole batch, and momentum and
/// running means keep their horizon in samples.
///
/// A rule that finds directions (muon) takes whole steps in its states, and s of the learning rate.
class PartialSteps final : public Optimizer {
 public:
  /// `whole` outlives this object.
  explicit PartialSteps(Optimizer& whole) : whole_(whole), is_scaled_(whole.finds_directions()) {}

  /// Of the next step().
  void set_share(float share) { share_ = share; }
  /// The number to give to step(), of updates that are a `shares`-th of a step each.
  std::int64_t step_of(std::int64_t updates, std::int64_t shares) const {
    return is_scaled_ ? updates : updates / shares;
  }

  std::vector<std::string> states() const override { return whole_.states(); }
  double rate() const override { return whole_.rate(); }
  std::string text() const override { return whole_.text(); }
  bool finds_directions() const override { return whole_.finds_directions(); }
  bool steps_states() const override { return whole_.steps_states(); }
  void step(std::span<const Segment> segments, float rate, std::int64_t step) override;

  /// Writes to `values` where those of the segment would be after so many steps (or a part of one) without
  /// a gradient. Changes neither values nor states.
  void look_ahead(const Segment& segment, float rate, std::int64_t step, float steps,
                  std::span<float> values) const;

 private:
  Optimizer& whole_;
  bool is_scaled_;
  float share_ = 1;
};

}  // namespace trainer
