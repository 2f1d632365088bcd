#include "models/training/batch.h"

#include <algorithm>

#include "models/losses/mixed_loss.h"
#include "models/losses/weighted_loss.h"
#include "models/training/review.h"

namespace trainer {

namespace {

/// Of each element of some packed samples in its document.
void read_positions(const Dataset& split, std::span<const std::int64_t> samples,
                    std::vector<std::int32_t>& positions) {
  const auto each = static_cast<std::size_t>(split.positions());
  positions.resize(samples.size() * each);
  for (std::size_t row = 0; row < samples.size(); ++row)
    split.read_positions(samples[row], std::span(positions).subspan(row * each, each));
}

}  // namespace

BatchRunner::BatchRunner(Session& session, Network& network)
    : session_(session),
      network_(network),
      kinds_(session.metric_sums()),
      workers_(static_cast<std::size_t>(session.pool().size())) {
  if (const Shape& output = network.output(); output.rank() == 2) output_positions_ = output[0];
  const VirtualWorkers& virtual_workers = session.virtual_workers();
  total_.resize(kinds_ * (virtual_workers.exact ? static_cast<std::size_t>(virtual_workers.count) : 1));
  for (int worker = 0; worker < session.pool().size(); ++worker) {
    Worker& self = workers_[static_cast<std::size_t>(worker)];
    self.sums.resize(kinds_ * static_cast<std::size_t>(network.virtual_workers_of(worker).count()));
    self.scores.resize(session.metrics().size());
    if (session.data().mixing.is_on())
      self.mixed_gradient.resize(static_cast<std::size_t>(network.output().size()));
  }
}

void BatchRunner::take_rows(int worker, std::span<const std::int64_t> samples) {
  const auto part = [&](const Range& rows) {
    return samples.subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count()));
  };
  at(worker).samples = part(network_.rows_of(worker, std::ssize(samples)));
  at(worker).input_samples = part(network_.input_rows_of(worker, std::ssize(samples)));
}

std::span<const std::int64_t> BatchRunner::samples_of(int worker) const {
  return workers_[static_cast<std::size_t>(worker)].input_samples;
}

void BatchRunner::add_metrics(Worker& self, ConstTensor rows, const Targets& targets, bool evaluates,
                              std::span<double> sums) {
  Targets own = targets;
  if (const ChannelStatistics& scaling = session_.data().target_statistics; !scaling.mean.empty()) {
    const auto unscaled = [&scaling](ConstTensor from, std::vector<float>& to) {
      to.resize(static_cast<std::size_t>(from.size()));
      unscale(scaling, from.span(), to);
      return ConstTensor(to.data(), from.shape());
    };
    rows = unscaled(rows, self.outputs);
    own.values = unscaled(targets.values, self.values);
  }
  for (std::size_t i = 0, next = 0; i < session_.metrics().size(); ++i) {
    const Metric& metric = *session_.metrics()[i];
    const auto kinds = static_cast<std::size_t>(metric.sums());
    metric.add(rows, own, sums.subspan(next, kinds));
    if (evaluates && metric.requires_scores()) metric.collect(rows, own, self.scores[i]);
    next += kinds;
  }
}

void BatchRunner::score(int worker, std::int64_t batch_rows, float gradient_scale) {
  Worker& self = at(worker);
  const bool evaluates = gradient_scale == 0;
  ConstTensor y = self.y;
  Tensor gradient = evaluates ? Tensor() : network_.output_gradient(worker);
  std::span<double> sums = self.sums;
  // Where each position has a label, losses and metrics take each position as a row.
  const std::int64_t labels = session_.labels_per_sample();
  const bool by_position = session_.data().train->positions() > 0;
  Targets all = self.targets.targets();
  all.lengths = self.output_lengths;
  if (by_position) {
    const Shape rows{y.rows() * labels, y.row_size() / labels};
    y = y.as(rows);
    if (!gradient.empty()) gradient = gradient.as(rows);
  }
  const auto score_rows = [&](std::int64_t first, std::int64_t count) {
    const ConstTensor rows = y.rows(first, count);
    const Targets targets = all.rows(first, count);
    const Tensor dy = gradient.empty() ? Tensor() : gradient.rows(first, count);
    const Loss& loss = session_.loss();
    if (!targets.weights.empty())
      sums[0] += weighted_loss(loss, rows, targets, gradient_scale, dy);
    else if (!targets.other_labels.empty())
      sums[0] += mixed_loss(loss, rows, targets, gradient_scale, dy, self.mixed_gradient);
    else
      sums[0] += loss.evaluate(rows, targets, gradient_scale, dy);
    add_metrics(self, rows, targets, evaluates, sums.subspan(1));
  };
  std::int64_t row = 0;
  const Range mine = network_.virtual_workers_of(worker);
  for (std::int64_t virtual_worker = mine.first; virtual_worker < mine.last; ++virtual_worker) {
    const std::int64_t count = session_.virtual_workers().rows(virtual_worker, batch_rows).count();
    const bool is_padded = by_position && !self.lengths.empty();
    if (!is_padded) score_rows(row * labels, count * labels);
    for (std::int64_t i = row; i < row + count && is_padded; ++i) {
      const std::int64_t length = self.lengths[static_cast<std::size_t>(i)];
      score_rows(i * labels, length);
      if (!gradient.empty())
        std::ranges::fill(gradient.rows(i * labels + length, labels - length).span(), 0.0f);
    }
    sums = sums.subspan(kinds_);
    row += count;
  }
}

void BatchRunner::read_lengths(Worker& self, const Dataset& split) {
  self.lengths.clear();
  self.input_lengths.clear();
  self.output_lengths.clear();
  if (!split.has_lengths()) return;
  for (const std::int64_t sample : self.input_samples)
    self.input_lengths.push_back(static_cast<std::int32_t>(split.length(sample)));
  const std::int64_t positions = split.sample()[0];
  for (const std::int64_t sample : self.samples) {
    const std::int64_t length = split.length(sample);
    self.lengths.push_back(static_cast<std::int32_t>(length));
    if (output_positions_ > 0)
      self.output_lengths.push_back(
          static_cast<std::int32_t>(scaled_length(length, positions, output_positions_)));
  }
  if (!split.info().is_packed) return;
  read_positions(split, self.samples, self.positions);
  read_positions(split, self.input_samples, self.input_positions);
}

std::int64_t BatchRunner::labels_of(const Dataset& split, std::span<const std::int64_t> samples) const {
  if (!split.has_lengths() || split.positions() == 0)
    return std::ssize(samples) * session_.labels_per_sample();
  std::int64_t labels = 0;
  for (const std::int64_t sample : samples) labels += split.length(sample);
  return labels;
}

double BatchRunner::weight_of(const Dataset& split, std::span<const std::int64_t> samples,
                              std::optional<std::int64_t> epoch) {
  const std::span<const double> weights = session_.loss().class_weights();
  if (weights.empty() && !split.info().has_weights) return static_cast<double>(labels_of(split, samples));
  if (weights.empty()) {
    double weight = 0;
    for (const std::int64_t sample : samples) weight += static_cast<double>(split.weight(sample));
    return weight;
  }
  // Every rank adds the weights of all labels in the order of the batch, so all get the same bits.
  const Targets& all = epoch ? whole_batch_.read(split, samples, session_.data().mixing, *epoch)
                             : whole_batch_.read(split, samples);
  const auto weight_of_class = [&](std::int32_t label) { return weights[static_cast<std::size_t>(label)]; };
  const auto positions = static_cast<std::size_t>(session_.labels_per_sample());
  double weight = 0;
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const auto of_sample = static_cast<double>(split.weight(samples[row]));
    const auto own = split.has_lengths() && split.positions() > 0
                         ? static_cast<std::size_t>(split.length(samples[row]))
                         : positions;
    for (std::size_t i = row * positions; i < row * positions + own; ++i) {
      const auto share = all.other_labels.empty() ? 1.0 : static_cast<double>(all.shares[i]);
      weight += of_sample * share * weight_of_class(all.labels[i]);
      if (share < 1) weight += of_sample * (1 - share) * weight_of_class(all.other_labels[i]);
    }
  }
  return weight;
}

void BatchRunner::review(int worker, Reviewer& reviewer) {
  Worker& self = at(worker);
  const std::int64_t labels = session_.labels_per_sample();
  const bool by_position = session_.data().train->positions() > 0;
  Targets all = self.targets.targets();
  all.lengths = self.output_lengths;
  const ConstTensor y =
      by_position ? self.y.as({self.y.rows() * labels, self.y.row_size() / labels}) : self.y;
  for (std::size_t row = 0; row < self.samples.size(); ++row) {
    if (!reviewer.takes(self.samples[row])) continue;
    const auto first = static_cast<std::int64_t>(row) * labels;
    const std::int64_t count = by_position && !self.lengths.empty() ? self.lengths[row] : labels;
    const double loss = session_.loss().evaluate(y.rows(first, count), all.rows(first, count), 0, {});
    reviewer.add(worker, self.samples[row], loss / static_cast<double>(count),
                 self.y.rows(static_cast<std::int64_t>(row), 1).span(),
                 labels == 1 && !all.labels.empty() ? all.labels[row] : -1);
  }
}

void BatchRunner::evaluate(const Dataset& split, std::span<const std::int64_t> samples, Reviewer* reviewer) {
  labels_ += labels_of(split, samples);
  weight_ += weight_of(split, samples, std::nullopt);
  session_.pool().run([&](int worker) {
    Worker& self = at(worker);
    take_rows(worker, samples);
    self.targets.read(split, self.samples);
    read_lengths(self, split);
    self.y = forward_views(worker, split, std::ssize(samples));
    score(worker, std::ssize(samples), 0);
    if (reviewer != nullptr) review(worker, *reviewer);
  });
}

ConstTensor BatchRunner::forward_views(int worker, const Dataset& split, std::int64_t batch_rows) {
  Worker& self = at(worker);
  const auto forward = [&](const View& view) {
    const Tensor x = network_.input(worker, std::ssize(self.input_samples));
    split.read(self.input_samples, x);
    const Shape& image = split.sample();
    for (std::int64_t row = 0; row < x.rows() && (view.is_mirrored || view.shift != 0); ++row) {
      self.view_scratch.resize(static_cast<std::size_t>(image.size()));
      show(view, x.rows(row, 1).data(), {image[0], image[1], image[2]}, self.view_scratch);
    }
    return network_.forward(worker, {.mode = Mode::evaluation,
                                     .samples = self.samples,
                                     .batch_rows = batch_rows,
                                     .lengths = self.lengths,
                                     .position_ids = self.positions,
                                     .input_samples = self.input_samples,
                                     .input_lengths = self.input_lengths,
                                     .input_position_ids = self.input_positions});
  };
  if (session_.settings().views == Views::one) return forward({});
  self.mean_output.clear();
  Shape shape;
  for (const View& view : all_of(session_.settings().views)) {
    const ConstTensor y = forward(view);
    shape = y.shape();
    const std::span<const float> output = y.span();
    self.mean_output.resize(std::max<std::size_t>(1, output.size()));  // also of no rows
    for (std::size_t i = 0; i < output.size(); ++i) self.mean_output[i] += view.share * output[i];
  }
  return {self.mean_output.data(), shape};
}

void BatchRunner::begin(const MicroBatch& batch, RowLoader& loader) {
  const Dataset& split = *session_.data().train;
  batch_ = batch;
  loader_ = &loader;
  loader.begin(batch.number);
  labels_ += labels_of(split, batch.samples);
  weight_ += weight_of(split, batch.samples, loader.epoch());
  batch_weight_ = weight_of(split, batch.batch, loader.epoch());
}

void BatchRunner::load(int worker) {
  const auto begin = std::chrono::steady_clock::now();
  const Dataset& split = *session_.data().train;
  Worker& self = at(worker);
  take_rows(worker, batch_.samples);
  const std::int64_t first = self.input_samples.data() - batch_.samples.data();
  const Tensor input = network_.input(worker, std::ssize(self.input_samples));
  loader_->fetch(worker, first, self.input_samples, input);
  self.targets.read(split, self.samples, session_.data().mixing, loader_->epoch());
  read_lengths(self, split);
  for (RowWatch* const watch : watches_)
    watch->on_load(worker, {.first_input = batch_.first + first,
                            .first = batch_.first + (self.samples.data() - batch_.samples.data()),
                            .input_samples = self.input_samples,
                            .samples = self.samples,
                            .input = input,
                            .targets = self.targets.targets(),
                            .labels_per_sample = session_.labels_per_sample()});
  self.data_time += std::chrono::steady_clock::now() - begin;
}

void BatchRunner::forward(int worker, ParameterSource* source) {
  Worker& self = at(worker);
  self.y = network_.forward(worker,
                            {.mode = Mode::training,
                             .step = batch_.step,
                             .samples = self.samples,
                             .batch_rows = std::ssize(batch_.samples),
                             .mean_rows = std::ssize(batch_.batch),
                             .lengths = self.lengths,
                             .position_ids = self.positions,
                             .input_samples = self.input_samples,
                             .input_lengths = self.input_lengths,
                             .input_position_ids = self.input_positions},
                            source);
}

void BatchRunner::loss(int worker) {
  // The mean over the labels of the whole batch, so that gradients of unequal micro-batches are simply added.
  // If no label has a weight, all gradients are zero before the division.
  const float scale = batch_weight_ > 0 ? 1.0f / static_cast<float>(batch_weight_) : 1.0f;
  score(worker, std::ssize(batch_.samples), scale);
}

std::span<const double> BatchRunner::sums() {
  std::ranges::fill(total_, 0.0);
  for (int worker = 0; worker < session_.pool().size(); ++worker) {
    const std::vector<double>& sums = workers_[static_cast<std::size_t>(worker)].sums;
    const std::size_t place =
        session_.virtual_workers().exact
            ? kinds_ * static_cast<std::size_t>(network_.virtual_workers_of(worker).first)
            : 0;
    for (std::size_t i = 0; i < sums.size(); ++i) total_[place + i] += sums[i];
  }
  return total_;
}

double BatchRunner::own_loss() const {
  double loss = 0;
  for (const Worker& worker : workers_)
    for (std::size_t i = 0; i < worker.sums.size(); i += kinds_) loss += worker.sums[i];
  return loss;
}

std::chrono::nanoseconds BatchRunner::data_time() const {
  std::chrono::nanoseconds total{};
  for (const Worker& worker : workers_) total += worker.data_time;
  return total / workers_.size();
}

void BatchRunner::clear() {
  labels_ = 0;
  weight_ = 0;
  for (Worker& worker : workers_) {
    std::ranges::fill(worker.sums, 0.0);
    worker.data_time = {};
  }
}

ClassScores BatchRunner::take_scores(std::size_t metric) {
  ClassScores all;
  for (Worker& worker : workers_) {
    ClassScores& part = worker.scores[metric];
    all.own.insert(all.own.end(), part.own.begin(), part.own.end());
    all.others.insert(all.others.end(), part.others.begin(), part.others.end());
    part = {};
  }
  return all;
}

void BatchRunner::scores(std::span<const double> sums, std::int64_t samples, Scores& scores) {
  // Virtual worker by virtual worker, in order.
  std::ranges::copy(sums, total_.begin());
  for (std::size_t i = kinds_; i < total_.size(); ++i) total_[i % kinds_] += total_[i];
  scores.samples = samples;
  scores.loss = weight_ > 0 ? total_[0] / weight_ : 0;
  total_[0] = static_cast<double>(labels_);
  session_.metric_values(metric_sums(), scores.metrics);
}

}  // namespace trainer
