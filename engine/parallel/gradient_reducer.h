#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "engine/core/gradient_sink.h"
#include "engine/core/parameter_source.h"
#include "engine/parallel/compressed_parameter.h"
#include "engine/parallel/parameter_window.h"

namespace trainer {

/// Sums the gradients of all workers of all data ranks while backward still runs, and brings the updated
/// parameters to all ranks. A step: begin, ready ... ready, finish, (each rank updates its shard), updated
/// ... updated, start_publish_update, acquire ... release, receive.
class GradientReducer : public GradientSink, public ParameterSource {
 public:
  /// Starts a backward pass. The gradients of the last one are no longer needed on any rank.
  virtual void begin() = 0;
  /// Waits for the sums of this rank's shard over all data ranks (reduce-scatter).
  virtual void finish() = 0;
  /// Starts to bring the updated shards of all ranks to all ranks (all-gather of parameters).
  virtual void start_publish() = 0;
  /// The same after an update of parameters that all ranks had. With bf16 sends the changes instead, which
  /// the update has left in ParameterWindow::sums() as values of bfloat16.
  virtual void start_publish_update() { start_publish(); }
  /// This rank's shard is updated up to this offset of the flat buffer; start_publish_update() follows. What
  /// is ready may leave at once, so parameters of other ranks may arrive from the first call on.
  virtual void updated(std::int64_t /*end*/) {}
  /// Waits until this rank has all parameters and has sent its own.
  virtual void receive() = 0;
  void publish() {
    start_publish();
    receive();
  }
  /// How long worker 0 has waited in acquire() since the last call.
  virtual std::chrono::nanoseconds take_waiting_time() = 0;
  /// When the messages of a bucket left for other hosts, and when this rank saw that all had arrived.
  struct Exchange {
    std::chrono::steady_clock::time_point begin, end;
  };
  /// Those of the last begin() to finish(), in the order in which they left; within one host there are none.
  virtual std::vector<Exchange> exchanges() const { return {}; }
  /// Where the rank's first gradient no longer is what its worker computed, from finish() on.
  virtual std::vector<Range> overwritten() const = 0;
  /// Of methods with error feedback: what this rank has not sent of its gradients, flat; a part of the
  /// training state. Empty without.
  virtual std::span<float> residual() { return {}; }
  /// Of methods with error feedback. False: the next finish() sums float32 values.
  virtual void compress(bool) {}
  /// True: the next finish() also estimates compression_error(), with two more all-reduces.
  virtual void measure_error(bool) {}
  /// Of error feedback, at the last finish() that measured it: the norm of what all ranks have not sent over
  /// that of what they were to send, both as sums over the ranks. The same on all ranks.
  virtual std::optional<double> compression_error() const { return {}; }
};

/// The reducer for the ranks that `window` spans: in the window of one node, by MPI between nodes, or in
/// exact mode between nodes along the tree over all virtual workers; or with the error feedback that the
/// window's compression asks for. Replicated parameters without it: only within the rank. `parameters`: for
/// error feedback. All arguments outlive it. Collective.
std::unique_ptr<GradientReducer> make_gradient_reducer(
    Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
    const std::vector<CompressedParameter>& parameters = {});

}  // namespace trainer
