#include "models/layers/sequence.h"

#include <algorithm>
#include <utility>

#include "engine/math/elementwise.h"
#include "models/layers/flatten.h"
#include "models/layers/tracer.h"

namespace trainer {
namespace {

/// A layer that holds others has required it of these.
void require_separate_documents(const Sequence::Entry& entry, const Shape& sample, const Shape& output,
                                const Plan& plan) {
  if (!plan.is_packed() || dynamic_cast<CompositeLayer*>(entry.layer.get()) ||
      (entry.layer->separates_documents() && output.rank() == 2))
    return;
  const std::string what = "it mixes the documents that share a row (`pack`)";
  if (entry.config)
    fail_to_fit(*entry.config, plan, sample, what,
                "`attention`, and layers that compute each position by itself; or `pack: false`");
  throw Error(ExitCode::usage, plan.layer_name() + " does not fit: " + what, "`pack: false`");
}

/// Sets up an entry; when it does not fit, the message shows the way to it: conv1 16x24x24 > max_pool1 ...
Shape setup_entry(const std::vector<Sequence::Entry>& entries, std::size_t index, const Shape& sample,
                  Plan& plan) {
  try {
    const Shape output = entries[index].layer->setup(sample, plan);
    require_separate_documents(entries[index], sample, output, plan);
    return output;
  } catch (const Error& error) {
    std::string way;
    for (std::size_t before = 0; before < index; ++before)
      way += entries[before].name + " " + channels_first_text(entries[before].output) + " > ";
    if (way.empty()) throw;
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.back().notes.push_back(way + entries[index].name);
    throw Error(error.code(), std::move(diagnostics));
  }
}

/// The parameters of an entry outside the sequences that its layer holds.
std::vector<Range> own_parameters(const Sequence::Entry& entry) {
  std::vector<Range> own;
  std::int64_t first = entry.first_parameter;
  const auto add_until = [&](std::int64_t last) {
    if (first < last) own.push_back({first, last});
  };
  if (auto* const composite = dynamic_cast<CompositeLayer*>(entry.layer.get()))
    for (const Sequence* inner : composite->sequences()) {
      if (inner->entries().empty()) continue;
      add_until(inner->entries().front().first_parameter);
      first = std::max(first, inner->entries().back().parameter_end);
    }
  add_until(entry.parameter_end);
  return own;
}

void store(const StoredActivation& one, const Pass& pass) {
  const std::span<Bfloat16> stored = pass.buffer(one.stored);
  store_bfloat16(std::ssize(stored), pass.buffer(one.values).data(), stored.data());
}

void load(const StoredActivation& one, const Pass& pass) {
  const std::span<const Bfloat16> stored = pass.buffer(one.stored);
  load_bfloat16(std::ssize(stored), stored.data(), pass.buffer(one.values).data());
}

}  // namespace

Sequence::Sequence(const std::vector<Config>& layers) {
  for (const Config& config : layers)
    entries_.push_back({.layer = Registry<Layer>::make(config),
                        .type = config.type(),
                        .name = config.has("name") ? config.get<std::string>("name") : "",
                        .config = config});
}

Shape Sequence::setup(const Shape& sample, Plan& plan) {
  std::int64_t widest = 0;
  const Shape output = setup_entries(sample, plan, widest);
  place_outputs(widest, plan);
  first_trained_ = 0;
  while (first_trained_ < entries_.size() && !entries_[first_trained_].learns) ++first_trained_;
  return output;
}

Shape Sequence::setup_entries(const Shape& sample, Plan& plan, std::int64_t& widest) {
  NestedPlan nested(plan);
  Shape shape = sample;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].type == "dense" && shape.rank() == 3)
      entries_.insert(
          entries_.begin() + static_cast<std::ptrdiff_t>(i),
          Entry{.layer = make_flatten(), .type = "flatten", .splits_rows = entries_[i].splits_rows});
    Entry& entry = entries_[i];
    nested.begin_layer(entry.config ? &*entry.config : nullptr, entry.type, entry.name);
    entry.name = nested.layer_name();
    entry.first_parameter = nested.parameter_end();
    const SplitRowsPlan share(plan, entry.splits_rows);
    entry.output = shape = setup_entry(entries_, i, shape, plan);
    entry.parameter_end = nested.parameter_end();
    entry.parameters = own_parameters(entry);
    entry.parameters.insert(entry.parameters.end(), nested.shared().begin(), nested.shared().end());
    entry.learns = nested.layer_learns();
    entry.traits = nested.traits();
    entry.activations = nested.activations();
    if (i + 1 == entries_.size() || entry.traits.view) continue;
    widest = std::max(widest, nested.floats_of_rows(shape.size()));
    entry.over_input = i > 0 && entry.traits.in_place && !entry.traits.reads_x &&
                       !entries_[i - 1].traits.reads_y && !entries_[i - 1].traits.view;
    if (entry.over_input) continue;
    if (plan.stores_bfloat16())
      entry.stored = plan.saved<Bfloat16>(shape.size());
    else
      entry.memory = plan.saved(shape.size());
  }
  return shape;
}

void Sequence::place_outputs(std::int64_t widest, Plan& plan) {
  // Of the tensors between two layers, whose gradients lie elsewhere than that of the layer behind.
  const auto gradients =
      std::count_if(entries_.begin() + (entries_.empty() ? 0 : 1), entries_.end(),
                    [](const Entry& entry) { return !entry.traits.view && !entry.traits.in_place; });
  std::ptrdiff_t stored = 0;
  bool loads_two = false;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].stored.per_row > 0) ++stored;
    const Entry *const input = stored_output(i), *const output = stored_output(i + 1);
    const Traits& traits = entries_[i].traits;
    loads_two = loads_two || (traits.reads_x && traits.reads_y && input && output && input != output);
  }
  for (std::ptrdiff_t i = 0; i < std::min<std::ptrdiff_t>(std::max(gradients, stored), 2); ++i)
    gradients_[i] = plan.scratch(0, widest);
  for (std::ptrdiff_t i = 0; i < std::min<std::ptrdiff_t>(stored, loads_two ? 2 : 1); ++i)
    loaded_[i] = plan.scratch(0, widest);
  int number = 0;
  for (Entry& entry : entries_) {
    if (entry.stored.per_row > 0) {
      const auto place = [&](const Buffer<>& memory) {
        return Buffer<>{.offset = memory.offset, .per_row = entry.stored.per_row, .region = memory.region};
      };
      entry.memory = place(gradients_[number]);
      entry.loaded = place(loaded_[loads_two ? number : 0]);
      number = 1 - number;
    } else {
      entry.loaded = entry.memory;
    }
  }
}

const Sequence::Entry* Sequence::stored_output(std::size_t count) const {
  while (count-- > 0) {
    const Entry& entry = entries_[count];
    if (entry.stored.per_row > 0) return &entry;
    if (!entry.over_input && !entry.traits.view) break;
  }
  return nullptr;
}

Pass& Sequence::pass_of(const Entry& entry, Pass& pass) {
  return entry.splits_rows ? pass.of_split_rows() : pass;
}

Tensor Sequence::place_of(std::size_t index, Tensor y, Pass& pass, Memory memory) const {
  const Entry& entry = entries_[index];
  if (index + 1 == entries_.size()) return y;
  if (entry.over_input) return place_of(index - 1, y, pass, memory);
  const Pass& own = pass_of(entry, pass);
  return own.buffer(entry.*memory).as(entry.output.with_front(own.rows()));
}

ConstTensor Sequence::input_of(std::size_t index, ConstTensor x, Tensor y, Pass& pass, Memory memory) const {
  if (index == 0) return x;
  const Entry& before = entries_[index - 1];
  if (before.traits.view)
    return input_of(index - 1, x, y, pass, memory).as(before.output.with_front(pass_of(before, pass).rows()));
  return place_of(index - 1, y, pass, memory);
}

bool Sequence::reads_input() const {
  for (const Entry& entry : entries_)
    if (!entry.traits.view) return entry.traits.reads_x;
  return false;
}

bool Sequence::reads_output() const {
  return !entries_.empty() && !entries_.back().traits.view && entries_.back().traits.reads_y;
}

Value Sequence::trace(Value x, Tracer& tracer) const {
  const std::string outer = tracer.graph.layer();
  for (const Entry& entry : entries_) {
    tracer.graph.begin_layer(entry.name);
    x = entry.layer->trace(x, tracer);
  }
  tracer.graph.begin_layer(outer);
  return x;
}

std::int64_t Sequence::flops() const {
  std::int64_t sum = 0;
  for (const Entry& entry : entries_) sum += entry.layer->flops();
  return sum;
}

bool Sequence::is_stepwise() const {
  return std::ranges::all_of(
      entries_, [](const Entry& entry) { return entry.layer->is_stepwise() && entry.output.rank() == 2; });
}

void Sequence::forward(ConstTensor x, Tensor y, Pass& pass) {
  if (entries_.empty()) std::ranges::copy(x.span(), y.data());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const bool last = i + 1 == entries_.size();
    Pass& own = pass_of(entry, pass);
    const bool begins = !entry.parameters.empty() && !(entry.traits.acquires_parts && own.has_parts());
    if (begins) own.begin_layer(entry.parameters);
    if (!entry.traits.view)
      entry.layer->forward(input_of(i, x, y, pass, &Entry::memory), place_of(i, y, pass, &Entry::memory),
                           own);
    else if (last)
      std::ranges::copy(input_of(i, x, y, pass, &Entry::memory).span(), y.data());
    if (begins) own.end_layer(entry.parameters);
    if (pass.training()) store_activations(i, pass);
  }
}

void Sequence::store_activations(std::size_t index, Pass& pass) const {
  const Entry& entry = entries_[index];
  for (const StoredActivation& one : entry.activations) store(one, pass_of(entry, pass));
  const bool is_final = index + 1 == entries_.size() || !entries_[index + 1].over_input;
  const Entry* const output = entry.traits.view || !is_final ? nullptr : stored_output(index + 1);
  if (output) store({output->memory, output->stored}, pass_of(*output, pass));
}

void Sequence::load_activations(std::size_t index, Pass& pass, LoadedOutputs& loaded) const {
  const Entry& entry = entries_[index];
  if (entry.traits.view) return;
  for (const StoredActivation& one : entry.activations) load(one, pass_of(entry, pass));
  for (const bool own : {true, false}) {
    if (!(own ? entry.traits.reads_y : entry.traits.reads_x)) continue;
    const Entry* const output = stored_output(own ? index + 1 : index);
    if (!output) continue;
    const Entry*& here = loaded[output->loaded.offset == loaded_[0].offset ? 0 : 1];
    if (std::exchange(here, output) != output) load({output->loaded, output->stored}, pass_of(*output, pass));
  }
}

void Sequence::recompute(ConstTensor x, Tensor y, Pass& pass) {
  pass.recomputes_ = true;
  forward(x, y, pass);
  pass.recomputes_ = false;
}

void Sequence::backward(ConstTensor x, ConstTensor y, Tensor dy, Tensor dx, Pass& pass) {
  if (entries_.empty() && !dx.empty()) std::ranges::copy(dy.span(), dx.data());
  // Only the caller knows where y lies; the outputs before it are read alone.
  const Tensor nowhere;
  int free_buffer = 0;
  LoadedOutputs loaded{};
  for (std::size_t i = entries_.size(); i-- > (dx.empty() ? first_trained_ : 0);) {
    const Entry& entry = entries_[i];
    Pass& own = pass_of(entry, pass);
    const ConstTensor input = input_of(i, x, nowhere, pass, &Entry::loaded);
    Tensor input_gradient = dx;
    if (i > 0) {
      const bool needed = !dx.empty() || i > first_trained_;
      if (!needed)
        input_gradient = {};
      else if (entry.traits.view || entry.traits.in_place)
        input_gradient = dy.as(input.shape());
      else
        input_gradient = Tensor(pass.buffer(gradients_[std::exchange(free_buffer, 1 - free_buffer)]).data(),
                                input.shape());
    }
    load_activations(i, pass, loaded);
    if (!entry.parameters.empty()) own.begin_layer(entry.parameters);
    if (!entry.traits.view)
      entry.layer->backward(input, i + 1 == entries_.size() ? y : place_of(i, nowhere, pass, &Entry::loaded),
                            dy, input_gradient, own);
    else if (i == 0 && !dx.empty())
      std::ranges::copy(dy.span(), dx.data());
    if (!entry.parameters.empty()) own.end_layer(entry.parameters);
    own.ready_from(entry.first_parameter);
    dy = input_gradient;
  }
}

}  // namespace trainer
