#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "engine/parallel/sharding.h"
#include "models/checkpoints/checkpoint.h"
#include "models/training/hook.h"
#include "models/training/observer.h"
#include "tests/support/mpi_main.h"

namespace trainer {

constexpr const char* kMlp = "[{dense: {units: 30, activation: relu}}, {dropout: 0.3}, {dense: 10}]";
constexpr const char* kPairs =
    "[{dense: {units: 20, activation: tanh}}, {dense: {units: 17, activation: relu}}, {dense: 10}]";
/// Large enough that the workers of a rank share out the update.
constexpr const char* kWide = "[{dense: {units: 4200, activation: relu}}, {dense: 10}]";
constexpr const char* kConvnet =
    "[{conv: {filters: 4, kernel: 3}}, batch_norm, relu, {max_pool: 2}, {dense: {units: 13, activation: "
    "relu}}, {dense: 10}]";
/// Sequences of several lengths.
constexpr const char* kRagged =
    "[{embedding: {units: 6, vocabulary: 10}}, {lstm: {units: 7, layers: 2}}, {gru: {units: 4, "
    "bidirectional: true}}, {rnn: 6}, {attention: 2}, {dense: 10}]";
/// Sequences of several lengths, of which one layer leaves every other position, for a loss that spells.
constexpr const char* kSpoken =
    "[{gru: {units: 6, bidirectional: true}}, {conv1d: {filters: 7, kernel: 3, stride: 2, pad: 1, "
    "activation: tanh}}, {lstm: 6}, {dense: 5}]";
/// A transformer whose last layer shares the weight of the first.
constexpr const char* kGpt =
    "[{embedding: {units: 8, vocabulary: 10, positions: learned, name: tokens}}, {residual: [layer_norm, "
    "{attention: {heads: 4, causal: true}}, {dropout: 0.1}]}, {residual: [layer_norm, {dense: {expand: 3, "
    "activation: gelu}}, {dense: 8}]}, layer_norm, {dense: {units: 10, bias: false, tie: tokens}}]";
/// Heads that share keys and values, and a gated unit.
constexpr const char* kLlama =
    "[{embedding: {units: 8, vocabulary: 10}}, {residual: [rms_norm, {attention: {heads: 4, kv_heads: 2, "
    "causal: true, rotary: true, bias: false}}]}, {residual: [rms_norm, {multiply: [[{dense: {units: 20, "
    "activation: silu, bias: false}}], [{dense: {units: 20, bias: false}}]]}, {dense: {units: 8, bias: "
    "false}}]}, rms_norm, {dense: {units: 10, bias: false}}]";
/// Adapters in a transformer, beside a layer that trains and one that is frozen.
constexpr const char* kAdapted =
    "[{embedding: {units: 8, vocabulary: 10}}, {residual: [layer_norm, {attention: {heads: 4, causal: true, "
    "lora: {rank: 2}}}]}, {residual: [layer_norm, {dense: {expand: 3, activation: gelu, lora: {rank: 3, "
    "alpha: 4}}}, {dense: 8}]}, layer_norm, {dense: {units: 10, frozen: false}}]";
/// Rows that hold several documents.
constexpr const char* kPacked =
    "[{embedding: {units: 8, vocabulary: 10, positions: learned, name: tokens}}, {residual: [layer_norm, "
    "{attention: {heads: 4, causal: true, rotary: true}}]}, positions, {residual: [layer_norm, {attention: "
    "2}]}, {residual: [layer_norm, {dense: {expand: 3, activation: gelu}}, {dense: 8}]}, layer_norm, "
    "{dense: {units: 10, bias: false, tie: tokens}}]";
/// State that resumes from batch to batch.
constexpr const char* kStreams =
    "[{embedding: {units: 6, vocabulary: 10}}, {lstm: {units: 5, layers: 2, keep_state: true}}, {gru: "
    "{units: 6, keep_state: true}}, {dense: 10}]";

constexpr const char* kSgd = "optimizer: {sgd: {lr: 0.02, momentum: 0.9, weight_decay: 1.0e-4}}";
constexpr const char* kAdam = "optimizer: {adamw: {lr: 0.003}}";

/// Where a run is computed.
struct Placement {
  int data = 1, model = 1, ranks_per_node = 0, threads = 1;
  bool share = true;
  Sharding sharding = Sharding::state;
  std::vector<double> speeds = {};  ///< of data ranks; empty: their shares are equal
};
std::string text(const Placement& placement);
/// Every placement of this many ranks, without sharded gradients and parameters.
std::vector<Placement> placements(int ranks);

/// What is computed: 207 samples of noise, of tokens where the first layer is an embedding, or for kSpoken of
/// what ctc can learn, in batches of 100, so that the last one of an epoch has 7.
struct Work {
  std::string layers;    ///< a YAML list
  std::string settings;  ///< YAML members of `train`
  std::string initial_weights = "";
  double mixup = 0;
  const Checkpoint* from = nullptr;  ///< resumes from there; of world rank 0
  Hook* hook = nullptr;              ///< after those of the run
};

bool takes_tokens(const std::string& layers);
std::unique_ptr<Dataset> samples_for(const std::string& layers, std::int64_t count, std::uint64_t seed);

struct Run {
  std::vector<double> losses;      ///< of its steps, on world rank 0 of its communicator
  std::vector<LayerNorms> layers;  ///< of all steps that log them, one after the other; likewise
  std::vector<std::string> chain;  ///< lines of chain.jsonl; likewise
  Checkpoint end;                  ///< likewise
  Scores evaluation;               ///< on all ranks

  const std::vector<NamedTensor>& weights() const { return end.model; }
};
/// Collective.
Run train(Communicator& world, const Placement& placement, const Work& work);
/// Where the error of a run with this code is, and what it is: "a.yaml:3:5: ..."; "no error" without one.
std::string message_of(const std::string& layers, const std::string& settings, const Placement& placement,
                       ExitCode code);

/// Keeps the losses of all steps.
class Losses final : public Observer {
 public:
  explicit Losses(std::vector<double>& losses) : losses_(losses) {}
  void on_step(const StepReport& report) override { losses_.push_back(report.scores.loss); }

 private:
  std::vector<double>& losses_;
};

/// Holds losses and weights of a run of all ranks to those of another, to the last bit.
void check_same_bits(const Run& run, const Run& reference);
/// The sum of the squared differences of a tensor between two runs.
double squared_change(const Run& run, const Run& before, std::size_t tensor);

}  // namespace trainer
