#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/loading/data.h"
#include "engine/config/config.h"
#include "engine/parallel/mesh.h"
#include "engine/system/thread_pool.h"
#include "models/losses/loss.h"
#include "models/metrics/metric.h"
#include "models/network/exchange.h"
#include "models/network/network.h"
#include "models/network/row_exchange.h"
#include "models/training/observer.h"
#include "models/training/settings.h"

namespace trainer {

/// A model with its data, placed on ranks and workers; training, evaluation and prediction use it. The
/// constructor makes no collective call, so that every rank reports its own errors before the first one.
class Session {
 public:
  /// Error(usage) when a layer, loss or metric does not fit; Error(ranks) when there are more data ranks than
  /// samples in a batch or, in exact mode, than virtual workers.
  Session(const Config& root, Data data, Mesh& mesh, ThreadPool& pool);
  /// For one share of a batch at a time: the same data, and the memory for it. `whole`, the session of the
  /// run, outlives it; `mesh` has one rank, and with `train.local` `pool` has one thread.
  Session(const Config& root, const Session& whole, Mesh& mesh, ThreadPool& pool);

  /// Reads the samples into memory. Collective over the ranks of a host.
  void load_samples(Communicator& host);

  const TrainSettings& settings() const { return settings_; }
  /// The most samples of a batch that the network computes, over all ranks, in evaluations too: those of a
  /// micro-batch, but no more than there are to train on.
  std::int64_t batch_rows() const;
  const Data& data() const { return data_; }
  /// Losses and metrics are means over labels; 1 unless each position has a label.
  std::int64_t labels_per_sample() const { return labels_per_sample_; }
  Mesh& mesh() const { return mesh_; }
  ThreadPool& pool() const { return pool_; }
  const VirtualWorkers& virtual_workers() const { return virtual_workers_; }
  /// True if it computes one share of a batch.
  bool is_share() const { return whole_ != nullptr; }
  /// Of what hosts exchange; none for a share, which exchanges nothing.
  Compression compression() const { return is_share() ? Compression{} : settings().compression; }
  /// The shares of a batch that are trained by themselves: the virtual workers of `train.local`, the ranks of
  /// `train.async`, else 1.
  int shares() const;
  /// The number of virtual workers whose sums follow one tree: in exact mode and in local SGD; else 0.
  int exact_virtual_workers() const { return virtual_workers_.exact ? virtual_workers_.count : 0; }
  /// Gives each data rank so many of parts_of_batch(), in place of equal shares, with a new network. Before
  /// anything uses the network. `root`: as given to the constructor.
  void divide(const Config& root, std::span<const std::int64_t> shares);
  /// Those of divide(); empty: shares are equal.
  std::vector<std::int64_t> rank_shares() const;
  /// What shares are counted in: virtual workers in exact mode, else samples of a full micro-batch, or parts
  /// of a very large one.
  std::int64_t parts_of_batch() const;
  /// The smallest share with which every rank has work.
  std::int64_t least_share() const;
  Network& network() const { return *network_; }
  /// A second network of the same layers, sharded over model ranks alike, for one rank of `virtual_workers`.
  std::unique_ptr<Network> make_network(const Config& root, const VirtualWorkers& virtual_workers, int rank);
  /// That of the whole session, which knows the class counts, for a share.
  Loss& loss() const { return is_share() ? whole_->loss() : *loss_; }
  const std::vector<std::unique_ptr<Metric>>& metrics() const { return metrics_; }
  std::vector<MetricFacts> metric_facts() const;
  /// The length of a row of sums: the number of labels, then the sums of each metric.
  std::size_t metric_sums() const;
  /// The value of each metric from such a row.
  void metric_values(std::span<const double> sums, std::vector<double>& values) const;
  std::vector<std::vector<double>> metric_tables(std::span<const double> sums) const;
  /// The split that selects the best weights: validation, else test, else null.
  const Dataset* evaluation_data() const;
  /// "valid", "test" or empty.
  std::string evaluation_split() const;
  /// Elements of all parameters of the model, over all model ranks.
  std::int64_t parameter_count() const;

 private:
  Session(const Config& root, std::unique_ptr<Data> own_data, const Session* whole, Mesh& mesh,
          ThreadPool& pool);
  /// Error(usage) when a layer keeps its state between batches and the run does not allow it.
  void check_streams(const Config& root) const;
  /// `output`: the shape that one label is compared with. Error(usage) if `output` or the data does not fit.
  void make_loss(const Config& root, const Shape& output);
  /// The same.
  void make_metrics(const Config& root, const Shape& output);

  TrainSettings settings_;
  const Session* whole_;            ///< null unless this is a share
  std::unique_ptr<Data> own_data_;  ///< null for a share
  const Data& data_;
  std::int64_t labels_per_sample_;
  Mesh& mesh_;
  ThreadPool& pool_;
  VirtualWorkers virtual_workers_;
  ModelGroup model_group_;
  std::optional<RowSplit> row_split_;  ///< of layers that no rank shards; null: they see the rows of a group
  std::unique_ptr<Network> network_;
  std::unique_ptr<Loss> loss_;
  std::vector<std::unique_ptr<Metric>> metrics_;
};

}  // namespace trainer
