#include "models/training/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/initializers/whitening.h"
#include "models/network/partition.h"
#include "models/optimizers/optimizer.h"
#include "models/schedules/schedule.h"
#include "models/training/arithmetic.h"
#include "models/training/early_stopping.h"
#include "models/training/likely_mistakes.h"

namespace trainer {
namespace {

VirtualWorkers make_virtual_workers(int fixed, const Compression& compression, const Mesh& mesh,
                                    const ThreadPool& pool) {
  VirtualWorkers virtual_workers = VirtualWorkers::one_for_each_worker(mesh.data().size(), pool.size());
  virtual_workers.exact = fixed > 0;
  if (fixed > 0) virtual_workers.count = fixed;
  virtual_workers.rounds = fixed > 0 && compression.is_bf16();
  return virtual_workers;
}

/// How layers before the first sharded one split rows over all ranks. A crosscheck computes a virtual worker
/// again on all ranks of a group, so all of them need its rows; compression works on one window.
std::optional<RowSplit> make_row_split(const TrainSettings& settings, const VirtualWorkers& whole,
                                       const Mesh& mesh) {
  const int ranks = mesh.data().size() * mesh.model().size();
  if (mesh.model().size() == 1 || settings.crosscheck > 0 ||
      settings.compression.method != Compression::Method::none)
    return std::nullopt;
  if (whole.exact && whole.count < ranks) return std::nullopt;
  return RowSplit{.whole = whole, .split = whole.split(mesh.model().size()), .data_rank = mesh.data().rank()};
}

/// A schedule may need a momentum or evaluations that the run does not have.
void check_schedule(const Config& train, const TrainSettings& settings, bool evaluates) {
  const auto optimizer = Registry<Optimizer>::make(train.at("optimizer"));
  ScheduleContext context{
      .rate = settings.scaled_rate(optimizer->rate()), .total_steps = 1, .evaluates = evaluates};
  if (settings.warmup) context.warmup = context.steps(*settings.warmup);
  const auto schedule = make_schedule(train.at("schedule"), context);
  if (const auto momentum = schedule->momentum(0); momentum && !optimizer->set_momentum(*momentum))
    train.fail("schedule", "the schedule changes momentum, and the optimizer has none",
               "`optimizer: {sgd: {lr: 0.1, momentum: 0.9}}`");
}

/// An optimizer of whole matrices excludes layers that --modelpar partitions.
void check_matrices(const Config& train, const NetworkPlan& plan) {
  const Config optimizer = train.at("optimizer");
  if (!Registry<Optimizer>::make(optimizer)->requires_matrices()) return;
  for (const Parameter& parameter : plan.parameters())
    if (plan.is_hidden_matrix(parameter) && parameter.shape.size() < parameter.whole_shape().size())
      throw Error(ExitCode::ranks,
                  {train.diagnostic("optimizer",
                                    fmt::format("{} updates whole matrices, and --modelpar partitions {}",
                                                optimizer.type(), parameter.name),
                                    "--datapar, or another optimizer")});
}

/// Views of a sample have its label only if it is an image.
void check_views(const Config& root, const Dataset& samples) {
  const bool is_labelled_image =
      samples.sample().rank() == 3 && samples.classes() > 0 && samples.positions() == 0;
  if (!root.at("train").is_word("views", "one") && !is_labelled_image)
    root.at("train").fail("views", "only images with one label each have other views", "`views: one`");
}

/// The shape that is compared with one label: the model's output, or one position of it.
Shape scored_output(const Config& model, const Shape& output, std::int64_t positions) {
  if (positions == 0) return output;
  if (output.rank() == 3 && output[0] * output[1] == positions) return {output[2]};
  if (output.rank() != 2 || output[0] != positions)
    model.fail("layers",
               fmt::format("the data has a label for each of {} positions; the model gives {}", positions,
                           channels_first_text(output)),
               "layers that keep positions, such as embedding, lstm, attention, layer_norm and dense, or of "
               "pixels conv and conv_transpose");
  return output.without_front();
}

}  // namespace

Session::Session(const Config& root, Data data, Mesh& mesh, ThreadPool& pool)
    : Session(root, std::make_unique<Data>(std::move(data)), nullptr, mesh, pool) {}

Session::Session(const Config& root, const Session& whole, Mesh& mesh, ThreadPool& pool)
    : Session(root, nullptr, &whole, mesh, pool) {}

Session::Session(const Config& root, std::unique_ptr<Data> own_data, const Session* whole, Mesh& mesh,
                 ThreadPool& pool)
    : settings_(train_settings(root.at("train"))),
      whole_(whole),
      own_data_(std::move(own_data)),
      data_(whole ? whole->data_ : *own_data_),
      labels_per_sample_(data_.train->info().labels_per_sample()),
      mesh_(mesh),
      pool_(pool),
      virtual_workers_(make_virtual_workers(is_share() ? 0 : settings_.fixed_virtual_workers(),
                                            settings_.compression, mesh, pool)),
      model_group_(pool, mesh.model(), settings_.exact_modelpar),
      row_split_(make_row_split(settings_, virtual_workers_, mesh)) {
  mesh.world().heartbeat().set_patience(static_cast<double>(settings_.stall_timeout));
  if (!is_share()) choose_arithmetic(root.at("train"), {settings_.portable, settings_.precision}, pool);
  check_ranks(root.at("train"), settings_, mesh.data().size(), mesh.model().size());
  check_schedule(root.at("train"), settings_,
                 evaluation_data() && settings_.evaluate.kind != Cadence::Kind::never);
  network_ = make_network(root, virtual_workers_, mesh.data().rank());
  check_matrices(root.at("train"), network_->plan());
  check_streams(root);
  check_views(root, *data_.train);
  for (const Parameter& parameter : network_->plan().parameters())
    if (is_whitened(parameter)) check_whitening(parameter, data_.train->sample());
  const Shape output = scored_output(root.at("model"), network_->output(), data_.train->positions());
  make_loss(root, output);
  make_metrics(root, output);
  if (!is_share())
    check_early_stopping(root.at("train"), settings_, metric_facts(),
                         evaluation_data() && settings_.evaluate.kind != Cadence::Kind::never);
}

void Session::make_loss(const Config& root, const Shape& output) {
  const Config model = root.at("model");
  const Dataset& samples = *data_.train;
  const Shape& all = network_->output();
  loss_ = Registry<Loss>::make(model.at("loss"));
  check_targets(root, data_, *loss_, output);
  loss_->setup(output, samples.classes());
  if (!data_.class_counts.empty()) loss_->use_class_counts(data_.class_counts);
  if (samples.classes() == 0 && !loss_->takes(all, samples.target()))
    model.fail("loss",
               fmt::format("the model gives {} outputs a sample, but its target is {}",
                           channels_first_text(all), channels_first_text(samples.target())),
               samples.target().rank() == 1
                   ? fmt::format("make the last layer `dense: {}`", samples.target().size())
                   : "");
  if (!data_.scaled.empty() && loss_->link() != Link::identity)
    root.at("data").fail(
        "normalize_targets",
        fmt::format("{} compares probabilities with targets from 0 to 1", model.at("loss").type()),
        "`mse` or `huber`, or without normalize_targets");
  if (samples.has_lengths() && samples.positions() == 0 && all.rank() > 1 && all[0] > 1 &&
      !loss_->knows_lengths())
    model.fail(
        "loss",
        fmt::format("samples have several lengths, and {} would count padding", model.at("loss").type()),
        "`ctc`, a label for each position, or `output: last` in the last recurrent layer");
}

void Session::make_metrics(const Config& root, const Shape& output) {
  const Config train = root.at("train");
  const Dataset& samples = *data_.train;
  for (const Config& config : train.items("metrics")) {
    if (samples.classes() == 0 && network_->output().size() != samples.target().size())
      config.fail(
          "",
          fmt::format("metrics compare each output with a target, but there are {} outputs and {} targets",
                      network_->output().size(), samples.target().size()));
    metrics_.push_back(Registry<Metric>::make(config));
    metrics_.back()->setup(output, samples.classes());
    metrics_.back()->use_link(loss_->link());
    const std::string name = metrics_.back()->name();
    if (std::ranges::count(metrics_, name, [](const auto& metric) { return metric->name(); }) > 1)
      config.fail("", "the metric " + name + " is listed twice");
  }
  if (metric_sums() > kMaxMetricSums)
    train.fail("metrics",
               fmt::format("metrics add up {} values in every step; checkpoints keep {} at most",
                           metric_sums(), kMaxMetricSums),
               "`mae` instead of `r2`, or fewer of them");
}

int Session::shares() const {
  if (settings_.local) return settings_.local->virtual_workers;
  if (!settings_.async) return 1;
  return whole_ ? whole_->shares() : mesh_.data().size();
}

void Session::check_streams(const Config& root) const {
  if (!network_->plan().streams_required()) return;
  if (!root.at("data").get<bool>("streams"))
    root.at("data").fail("streams", "a layer keeps its state, but samples are not consecutive",
                         "data.streams: true");
  if (settings_.local)
    root.at("train").fail(
        "local",
        "a layer keeps its state between batches, and checkpoints of local runs have none of "
        "each virtual worker",
        "remove keep_state, or local");
  if (settings_.async)
    root.at("train").fail(
        "async",
        "a layer keeps its state between batches, and a rank of an asynchronous run computes "
        "any share of the next one",
        "remove keep_state, or async");
  if (settings_.accumulate > 1)
    root.at("train").fail("accumulate", "the rows of a micro-batch do not continue those of the one before",
                          "remove keep_state, or accumulate");
  if (settings_.crosscheck > 0)
    root.at("train").fail("crosscheck",
                          "the initial state of a layer with `keep_state` is gone when its step is checked",
                          "remove keep_state, or crosscheck");
}

void Session::load_samples(Communicator& host) {
  trainer::load_samples(*own_data_, host);
  if (!loss_->requires_class_counts()) return;
  if (data_.class_counts.empty()) own_data_->class_counts = count_classes(*data_.train);
  loss_->use_class_counts(data_.class_counts);
}

std::unique_ptr<Network> Session::make_network(const Config& root, const VirtualWorkers& virtual_workers,
                                               int rank) {
  const std::int64_t shares = is_share() ? this->shares() : 1;
  const Network::Options options{
      .batch = (batch_rows() + shares - 1) / shares,
      .virtual_workers = virtual_workers,
      .rank = rank,
      .split_workers = row_split_ ? std::optional(row_split_->split) : std::nullopt,
      .split_rank = rank * mesh_.model().size() + mesh_.model().rank(),
      .seed = settings_.seed,
      .compression = settings_.local ? Compression{} : settings_.compression,
      .is_packed = data_.train->info().is_packed,
      .stores_bfloat16 = settings_.stores_bfloat16,
      .rewrite = [this](Sequence& layers) { shard_layers(layers, model_group_, row_split_); }};
  return std::make_unique<Network>(root.at("model").items("layers"), data_.train->sample(), options);
}

void Session::divide(const Config& root, std::span<const std::int64_t> shares) {
  virtual_workers_.ends.resize(shares.size());
  std::partial_sum(shares.begin(), shares.end(), virtual_workers_.ends.begin());
  row_split_ = make_row_split(settings_, virtual_workers_, mesh_);
  network_ = make_network(root, virtual_workers_, mesh_.data().rank());
}

std::vector<std::int64_t> Session::rank_shares() const {
  std::vector<std::int64_t> shares(virtual_workers_.ends.size());
  std::adjacent_difference(virtual_workers_.ends.begin(), virtual_workers_.ends.end(), shares.begin());
  return shares;
}

std::int64_t Session::parts_of_batch() const {
  constexpr std::int64_t kMost = 1 << 20;
  return virtual_workers_.exact ? virtual_workers_.count : std::min(batch_rows(), kMost);
}

std::int64_t Session::least_share() const {
  const std::int64_t ranks = virtual_workers_.ranks;
  const std::int64_t of_group = virtual_workers_.exact && row_split_ ? mesh_.model().size() : 1;
  return std::min(of_group, parts_of_batch() / ranks);
}

std::int64_t Session::batch_rows() const {
  return std::clamp<std::int64_t>(data_.train->size(), 1, settings_.micro_batch());
}

std::vector<MetricFacts> Session::metric_facts() const {
  std::vector<MetricFacts> facts;
  for (const auto& metric : metrics_)
    facts.push_back({metric->name(), metric->short_name(), metric->is_fraction(), metric->higher_is_better(),
                     metric->table_name(), metric->counts_samples() && data_.train->positions() == 0,
                     metric->program() != nullptr});
  return facts;
}

std::size_t Session::metric_sums() const {
  std::size_t count = 1;
  for (const auto& metric : metrics_) count += static_cast<std::size_t>(metric->sums());
  return count;
}

void Session::metric_values(std::span<const double> sums, std::vector<double>& values) const {
  values.clear();
  const double labels = sums[0];
  sums = sums.subspan(1);
  for (const auto& metric : metrics_) {
    const auto count = static_cast<std::size_t>(metric->sums());
    values.push_back(metric->value(sums.first(count), labels));
    sums = sums.subspan(count);
  }
}

std::vector<std::vector<double>> Session::metric_tables(std::span<const double> sums) const {
  std::vector<std::vector<double>> tables;
  sums = sums.subspan(1);
  for (const auto& metric : metrics_) {
    const auto count = static_cast<std::size_t>(metric->sums());
    tables.push_back(metric->table(sums.first(count)));
    sums = sums.subspan(count);
  }
  return tables;
}

const Dataset* Session::evaluation_data() const {
  return data_.validation ? data_.validation.get() : data_.test.get();
}

std::string Session::evaluation_split() const {
  if (data_.validation) return "valid";
  return data_.test ? "test" : "";
}

std::int64_t Session::parameter_count() const {
  std::int64_t count = 0;
  for (const Parameter& parameter : network_->plan().parameters()) count += parameter.whole_shape().size();
  return count;
}

}  // namespace trainer
