#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "models/training/clipping.h"
#include "models/training/training_parts.h"

namespace trainer {

/// A rank's model in asynchronous training. It computes the gradient of a unit: of one rank's share of a
/// batch. All threads of the rank take part, and no other rank.
class AsynchronousWorker {
 public:
  /// `whole`: the parts of the run. Makes no collective call.
  AsynchronousWorker(const Config& root, TrainingParts& whole);
  AsynchronousWorker(const AsynchronousWorker&) = delete;
  AsynchronousWorker& operator=(const AsynchronousWorker&) = delete;

  /// All parameters, to be set before compute().
  std::span<float> values() { return parts_.windows.only().values(); }
  /// The gradient of the unit's mean loss, after compute().
  std::span<const float> gradient() { return parts_.windows.only().gradients(0); }
  /// Computes unit `part` of a step. Returns its share of the rows of the batch; 0: it has none.
  double compute(std::int64_t step, std::int64_t part, Hook& hooks);
  /// True if loss and gradient are finite.
  bool is_finite() const { return is_finite_; }
  double loss() const { return parts_.batch.own_loss(); }
  /// Of the last unit: the loss and the sums of metrics, labels, the divisor of the mean loss.
  std::span<const double> sums() const { return sums_; }
  std::chrono::nanoseconds data_time() const { return parts_.batch.data_time(); }

  /// The states of layers that belong to the model (running statistics), one after the other.
  std::int64_t state_values() const;
  void take_states(std::span<float> values) const;
  void set_states(std::span<const float> values);

 private:
  std::unique_ptr<Communicator> alone_ = solo();
  Mesh mesh_{*alone_, {}};
  Session session_;
  TrainingParts parts_;
  Clipping clipping_;
  std::int64_t parts_of_batch_;
  bool is_finite_ = true;
  std::vector<double> sums_;
};

}  // namespace trainer
