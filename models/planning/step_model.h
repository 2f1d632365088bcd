#pragma once

#include <vector>

#include "engine/core/range.h"
#include "models/planning/compressed_bytes.h"
#include "models/planning/link_cost.h"

namespace trainer {

/// A step of training as the model of its time sees it: what one rank computes, in the order in which it
/// computes it, and what nodes exchange. Times are seconds.
struct StepWork {
  struct Layer {
    double forward = 0, backward = 0;              ///< computing, of a micro-batch
    double forward_waits = 0, backward_waits = 0;  ///< for exchanges with its model group
    Range parameters;                              ///< in the flat buffer, floats
    /// Bytes of the sums over the batch that the layer waits for, one after the other (batch_norm).
    std::vector<double> forward_sums = {}, backward_sums = {};
    int sum_nodes = 1;  ///< that take part in them
  };
  std::vector<Layer> layers;
  double data = 0;           ///< samples of a micro-batch, before forward
  double sums = 0;           ///< after backward: the sums within a node
  double update = 0;         ///< of the optimizer shard
  double slowest_ratio = 1;  ///< the computing of the slowest of all ranks, over that of a rank
  /// Floats of the flat buffer, exchanged together.
  struct Bucket {
    std::int64_t first = 0, last = 0;
    int nodes = 0;       ///< that exchange them; 0: all that exchange gradients
    int gradients = 0;   ///< values sent for each float; 0: as most
    double of_link = 1;  ///< the bandwidth that they have, over that of the others
  };
  std::vector<Bucket> buckets = {};  ///< from the end of the flat buffer to its begin
  int gradients = 1;  ///< values sent for each float of a bucket: in exact mode one for each root of a tree
  double gradient_bytes = 4, parameter_bytes = 4;  ///< of a value between nodes, encoded on slow links
  int nodes = 1;                                   ///< that exchange gradients
  int micro_batches = 1;
  /// Sharded parameters: gathered in each forward, and again in each backward.
  bool gathers_again = false;
  double scalars = 0;            ///< bytes of the all-reduce of loss, metrics and signals
  bool publish_overlaps = true;  ///< parameters arrive while forward runs: one rank on each node
  std::vector<CompressedMessage> compressed = {};  ///< after backward, in place of buckets
};

/// The predicted time of a step, seconds.
struct StepTime {
  double computing = 0;
  double layers = 0;     ///< waiting for exchanges inside forward and backward
  double sending = 0;    ///< starting messages of gradients and parameters
  double adding = 0;     ///< what other nodes sent
  double reduce = 0;     ///< waiting for gradients after backward
  double consensus = 0;  ///< the all-reduce of scalars
  double handling = 0;   ///< of messages by the processor while it computes
  double publish = 0;    ///< waiting for parameters
  double slowest = 0;    ///< waiting for the slowest rank, besides all of these
  double wire = 0;       ///< how long the link of a node is busy with gradients and parameters

  double waiting() const {
    return layers + sending + adding + reduce + consensus + publish + handling + slowest;
  }
  double total() const { return computing + waiting(); }
  /// The share of the wire time during which the rank computes; 1 if there is none.
  double hidden() const;
};

/// Predicts a step from the times of computing and the cost of messages. The thread that computes starts the
/// messages of a bucket when backward has passed the first of its parameters; they use the link once those of
/// the buckets before have left it. The thread adds what has arrived between layers; the step waits for the
/// last bucket. Parameters come back bucket by bucket, those that forward reads first before the others, and
/// each layer waits for its own (engine/parallel/node_reducer.h). Sums inside layers share the link. Each
/// byte that is on the link while the rank computes delays both by its overhead; waiting hides it. All ranks
/// take as long as the slowest one, where messages do not hide it.
StepTime predict_step(const StepWork& work, const LinkCost& cost);

}  // namespace trainer
