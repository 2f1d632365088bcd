#include "models/proof/chain_hook.h"

#include <algorithm>
#include <array>

#include "engine/math/checksum.h"
#include "engine/math/fingerprint.h"

namespace trainer {
namespace {

constexpr std::size_t kMostWaiting = 200;
constexpr std::uint64_t kSampleFactor = mixed(0x73616d706c65) | 1;

// Targets of one kind, if there are any, are added to the hash of their row; `kind` keeps kinds apart.
void add_labels(std::span<const std::int32_t> labels, std::uint64_t kind, std::span<std::uint64_t> hashes) {
  if (labels.empty()) return;
  const std::size_t size = labels.size() / hashes.size();
  auto label = labels.begin();
  for (std::uint64_t& hash : hashes) {
    std::uint64_t row = kind;
    for (std::size_t i = 0; i < size; ++i) row = mixed(row + 1 + static_cast<std::uint32_t>(*label++));
    hash += row;
  }
}
void add_values(std::span<const float> values, std::uint64_t kind, std::span<std::uint64_t> hashes,
                std::vector<std::uint64_t>& rows) {
  if (values.empty()) return;
  rows.resize(hashes.size());
  row_fingerprints(values, rows);
  for (std::size_t row = 0; row < rows.size(); ++row) hashes[row] += mixed(kind + rows[row]);
}

void sum_over(Communicator& world, std::span<std::uint64_t> values) {
  world.sum(std::span(reinterpret_cast<std::int64_t*>(values.data()), values.size()));
}

}  // namespace

ChainHook::ChainHook(TrainingParts& parts, const Observers& observers, const std::string& value,
                     ChainListener* listener)
    : parts_(parts),
      observers_(observers),
      listener_(listener),
      value_(digest_of_hex(value)),
      workers_(static_cast<std::size_t>(parts.session.pool().size())) {
  const NetworkPlan& plan = parts.session.network().plan();
  items_.gradients.resize(plan.parameters().size());
  items_.weights.resize(tensors());
  const auto rows = static_cast<std::size_t>(parts.session.settings().batch);
  for (std::size_t row = 0; row < rows; ++row) row_factors_.push_back(factors_of(row));
  if (listener_) {
    input_rows_.resize(rows);
    target_rows_.resize(rows);
  }
  waiting_.reserve(kMostWaiting);
  parts_.batch.watch(*this);
}

std::size_t ChainHook::tensors() const {
  const NetworkPlan& plan = parts_.session.network().plan();
  return plan.parameters().size() + plan.states().size();
}

void ChainHook::on_load(int worker, const Rows& rows) {
  // All ranks of a model group load the same rows, but for those that they split.
  const bool is_first = parts_.session.mesh().model().rank() == 0;
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  if (is_first || parts_.session.network().splits_rows()) add_input(self, rows);
  if (is_first) add_targets(self, rows);
}

void ChainHook::add_input(Worker& worker, const Rows& rows) {
  worker.hashes.resize(rows.input_samples.size());
  row_fingerprints(rows.input.span(), worker.hashes);
  for (std::size_t row = 0; row < worker.hashes.size(); ++row)
    worker.hashes[row] += kSampleFactor * static_cast<std::uint64_t>(rows.input_samples[row] + 1);
  add_rows(worker, rows.first_input, input_rows_);
}

void ChainHook::add_targets(Worker& worker, const Rows& rows) {
  const Targets& targets = rows.targets;
  worker.hashes.assign(rows.samples.size(), 0);
  add_labels(targets.labels, 1, worker.hashes);
  add_labels(targets.other_labels, 2, worker.hashes);
  add_values(targets.shares, 3, worker.hashes, worker.values);
  add_values(targets.weights, 4, worker.hashes, worker.values);
  if (!targets.values.empty()) add_values(targets.values.span(), 5, worker.hashes, worker.values);
  add_rows(worker, rows.first, target_rows_);
}

void ChainHook::add_rows(Worker& worker, std::int64_t first, std::vector<std::uint64_t>& kept) {
  const std::size_t begin = static_cast<std::size_t>(first), count = worker.hashes.size();
  const std::span<const PlaceFactors> factors = std::span(row_factors_).subspan(begin, count);
  FingerprintSums batch = worker.batch;
  for (std::size_t row = 0; row < count; ++row) batch.add(factors[row], worker.hashes[row]);
  worker.batch = batch;
  if (listener_) std::ranges::copy(worker.hashes, kept.begin() + first);
}

void ChainHook::on_start(std::int64_t done) {
  const NetworkPlan& plan = parts_.session.network().plan();
  parts_.shard.keep_fingerprints(plan);
  if (value_ && !listener_) return;
  record_ = {.step = done};
  add_items();
  reduce();
  waiting_.push_back(record_);
  if (listener_) link_records();
}

void ChainHook::before_step(std::int64_t) {
  for (Worker& worker : workers_) worker.batch = {};
  std::ranges::fill(input_rows_, 0);
  std::ranges::fill(target_rows_, 0);
}

void ChainHook::add_items() {
  std::ranges::fill(items_.gradients, 0);
  std::ranges::fill(items_.weights, 0);
  parts_.shard.visit_fingerprints([&](int parameter, const OptimizerShard::Fingerprints& part) {
    items_.gradients[static_cast<std::size_t>(parameter)] += part.gradient;
    items_.weights[static_cast<std::size_t>(parameter)] += part.values;
  });
  // Every rank has the same states.
  const NetworkPlan& plan = parts_.session.network().plan();
  if (parts_.session.mesh().world().rank() != 0) return;
  const std::span<const float> states = parts_.session.network().states();
  for (std::size_t i = 0; i < plan.states().size(); ++i) {
    const State& state = plan.states()[i];
    if (state.use == StateUse::model)
      items_.weights[plan.parameters().size() + i] =
          fingerprint(states.subspan(static_cast<std::size_t>(state.offset),
                                     static_cast<std::size_t>(state.shape.size())),
                      0);
  }
}

void ChainHook::reduce() {
  Communicator& world = parts_.session.mesh().world();
  for (const Worker& worker : workers_) record_.batch += worker.batch;
  for (std::size_t i = 0; i < items_.gradients.size(); ++i) record_.gradients.add(i, items_.gradients[i]);
  for (std::size_t i = 0; i < items_.weights.size(); ++i) record_.weights.add(i, items_.weights[i]);
  std::array<std::uint64_t, 6> sums{record_.batch.first,      record_.batch.second,  record_.gradients.first,
                                    record_.gradients.second, record_.weights.first, record_.weights.second};
  if (world.size() > 1) {
    sum_over(world, sums);
    record_.batch = {sums[0], sums[1]};
    record_.gradients = {sums[2], sums[3]};
    record_.weights = {sums[4], sums[5]};
  }
  if (!listener_) return;
  items_.rows.resize(input_rows_.size());
  std::ranges::transform(input_rows_, target_rows_, items_.rows.begin(), std::plus());
  for (std::vector<std::uint64_t>* items : {&items_.rows, &items_.gradients, &items_.weights})
    sum_over(world, *items);
}

void ChainHook::before_publish(std::int64_t done) {
  record_ = {.step = done + 1};
  add_items();
  reduce();
}

void ChainHook::after_step(Progress& run) {
  if (listener_) items_.samples = parts_.order.batch(run.step - 1);
  waiting_.push_back(record_);
  if (listener_ || waiting_.size() == kMostWaiting) link_records();
}

void ChainHook::link(Progress& run) {
  link_records();
  run.chain = value_;
}

void ChainHook::link_records() {
  const bool is_first_rank = parts_.session.mesh().world().rank() == 0;
  lines_.clear();
  for (ChainRecord& record : waiting_) {
    record.link(value_);
    value_ = record.value;
    if (!is_first_rank) continue;
    if (listener_) {
      listener_->on_record(record, items_);
    } else {
      if (!lines_.empty()) lines_ += '\n';
      append_line(lines_, record);
    }
  }
  waiting_.clear();
  if (!lines_.empty()) observers_.notify([&](Observer& observer) { observer.on_chain(lines_); });
}

}  // namespace trainer
