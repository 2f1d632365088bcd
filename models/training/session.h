#pragma once

#include <memory>
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
#include "models/training/observer.h"
#include "models/training/settings.h"

namespace trainer {

/// A model with its data, placed on ranks and workers: what training and evaluation share. Building it makes
/// no collective call, so that every rank can check everything before the first one.
class Session {
 public:
  /// Error(usage) when a layer, loss or metric does not fit; Error(ranks) when there are more data ranks than
  /// samples in a batch, or in exact mode than blocks.
  Session(const Config& root, Data data, Mesh& mesh, ThreadPool& pool);

  /// Puts the samples into memory, as load_samples() does. Collective over the ranks of a host.
  void load_samples(Communicator& host) { trainer::load_samples(data_, host); }

  const TrainSettings& settings() const { return settings_; }
  const Data& data() const { return data_; }
  /// What losses and metrics average over: each sample has so many.
  std::int64_t labels_per_sample() const { return labels_per_sample_; }
  Mesh& mesh() const { return mesh_; }
  ThreadPool& pool() const { return pool_; }
  const VirtualWorkers& blocks() const { return blocks_; }
  /// 0 unless in exact mode, as GradientReducer expects it.
  int exact_blocks() const { return blocks_.exact ? blocks_.count : 0; }
  Network& network() const { return *network_; }
  /// Another one of the same layers, cut over model ranks alike, for rank `rank` of these blocks.
  std::unique_ptr<Network> make_network(const Config& root, const VirtualWorkers& blocks, int rank);
  Loss& loss() const { return *loss_; }
  const std::vector<std::unique_ptr<Metric>>& metrics() const { return metrics_; }
  std::vector<MetricFacts> metric_facts() const;
  /// So many numbers are a count of labels and behind it all metrics' sums.
  std::size_t metric_sums() const;
  /// What follows from them, for each metric.
  void metric_values(std::span<const double> sums, std::vector<double>& values) const;
  std::vector<std::vector<double>> metric_tables(std::span<const double> sums) const;
  /// What decides which weights are best: the validation split, else the test split, else null.
  const Dataset* evaluation_data() const;
  /// "valid", "test" or empty.
  std::string evaluation_split() const;
  /// Parameters of the whole model, however it is cut.
  std::int64_t parameter_count() const;

 private:
  /// Error(usage) when a layer keeps its state where it cannot.
  void check_streams(const Config& root) const;

  TrainSettings settings_;
  Data data_;
  std::int64_t labels_per_sample_;
  Mesh& mesh_;
  ThreadPool& pool_;
  VirtualWorkers blocks_;
  ModelGroup model_group_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Loss> loss_;
  std::vector<std::unique_ptr<Metric>> metrics_;
};

}  // namespace trainer
