#include "models/training/session.h"

#include <algorithm>

#include "models/network/partition.h"

namespace trainer {
namespace {

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

Session::Session(const Config& root, Data data, Mesh& mesh, ThreadPool& pool)
    : settings_(train_settings(root.at("train"))),
      data_(std::move(data)),
      mesh_(mesh),
      pool_(pool),
      model_group_(pool, mesh.model()) {
  const Config model = root.at("model");
  const int data_ranks = mesh.data().size();
  if (settings_.batch < data_ranks)
    throw Error(ExitCode::ranks,
                {root.at("train").diagnostic(
                    "batch",
                    "a batch of " + std::to_string(settings_.batch) + " cannot be cut over " +
                        std::to_string(data_ranks) + " data ranks",
                    "train.batch counts the samples of the whole run; fewer ranks, or a larger batch")});
  network_ = std::make_unique<Network>(
      model.items("layers"), data_.train->sample(),
      Network::Options{.max_rows = ceil_divide(settings_.batch, std::int64_t{data_ranks} * pool.size()),
                       .workers = pool.size(),
                       .seed = settings_.seed,
                       .rewrite = [&](Sequence& layers) { cut_dense_layers(layers, model_group_); }});
  loss_ = Registry<Loss>::make(model.at("loss"));
  const Dataset& train = *data_.train;
  loss_->setup(network_->output(), train.classes());
  if (train.classes() == 0 && network_->output().size() != train.target().size())
    model.fail("layers", "the model gives " + channels_first_text(network_->output()) +
                             " a sample, but its target is " + channels_first_text(train.target()));
  for (const Config& config : root.at("train").items("metrics")) {
    metrics_.push_back(Registry<Metric>::make(config));
    metrics_.back()->setup(network_->output(), data_.train->classes());
    const std::string name = metrics_.back()->name();
    if (std::ranges::count(metrics_, name, [](const auto& metric) { return metric->name(); }) > 1)
      config.fail("", "the metric " + name + " is there twice");
  }
}

std::vector<MetricFacts> Session::metric_facts() const {
  std::vector<MetricFacts> facts;
  for (const auto& metric : metrics_)
    facts.push_back(
        {metric->name(), metric->short_name(), metric->is_fraction(), metric->higher_is_better()});
  return facts;
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
