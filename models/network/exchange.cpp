#include "models/network/exchange.h"

#include <algorithm>
#include <memory>

namespace trainer {
namespace {

/// whole[:, part] -> mine
void take_columns(std::span<const float> whole, std::int64_t width, Range part, std::span<float> mine) {
  const auto lines = static_cast<std::int64_t>(whole.size()) / width;
  for (std::int64_t line = 0; line < lines; ++line)
    std::copy_n(whole.data() + line * width + part.first, part.count(), mine.data() + line * part.count());
}

class Exchange final : public Layer, public Exchanging {
 public:
  Exchange(ExchangeKind kind, ModelGroup& group, std::int64_t width)
      : kind_(kind), group_(group), width_(width) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    plan.backward_reads(false, false);
    const bool splits = kind_ == ExchangeKind::join || kind_ == ExchangeKind::split;
    floats_ = (splits ? sample.with_last(width_) : sample).size();
    if (kind_ == ExchangeKind::copy || kind_ == ExchangeKind::sum) {
      // No layer asks for gradients before the first parameter.
      has_gradient_ = plan.has_parameters();
      if (kind_ == ExchangeKind::copy && !has_gradient_) plan.is_view();
      plan.works_in_place();
      return sample;
    }
    scratch_ = plan.scratch(floats_);
    return sample.with_last(kind_ == ExchangeKind::join ? width_ : group_.part(width_).count());
  }

  bool separates_documents() const override { return true; }
  ExchangeTraffic traffic() const override {
    switch (kind_) {
      case ExchangeKind::join:
        return {.gathered_forward = floats_};
      case ExchangeKind::split:
        return {.gathered_backward = floats_};
      case ExchangeKind::sum:
        return {.summed_forward = floats_};
      case ExchangeKind::copy:
        return {.summed_backward = has_gradient_ ? floats_ : 0};
    }
    return {};
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    switch (kind_) {
      case ExchangeKind::join:
        return group_.join_columns(pass.worker(), x.span(), y.span(), width_, pass.buffer(scratch_).span());
      case ExchangeKind::split:
        return take_columns(x.span(), width_, group_.part(width_), y.span());
      case ExchangeKind::copy:
      case ExchangeKind::sum:
        if (x.data() != y.data()) std::ranges::copy(x.span(), y.data());
        if (kind_ == ExchangeKind::sum) group_.sum(pass.worker(), y.span());
    }
  }

  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    switch (kind_) {
      case ExchangeKind::join:
        return take_columns(dy.span(), width_, group_.part(width_), dx.span());
      case ExchangeKind::split:
        return group_.join_columns(pass.worker(), dy.span(), dx.span(), width_, pass.buffer(scratch_).span());
      case ExchangeKind::copy:
      case ExchangeKind::sum:
        if (dx.data() != dy.data()) std::ranges::copy(dy.span(), dx.data());
        if (kind_ == ExchangeKind::copy) group_.sum(pass.worker(), dx.span());
    }
  }

 private:
  ExchangeKind kind_;
  ModelGroup& group_;
  std::int64_t width_;
  std::int64_t floats_ = 0;  ///< of the whole tensor, for one sample
  bool has_gradient_ = false;
  Buffer<> scratch_;
};

}  // namespace

ModelGroup::ModelGroup(ThreadPool& pool, Communicator& ranks, bool exact)
    : pool_(pool), ranks_(ranks), exact_(exact), slots_(static_cast<std::size_t>(pool.size())) {}

std::vector<std::int64_t> ModelGroup::unit_borders(std::int64_t width, std::int64_t together) {
  constexpr std::int64_t kLine = 16;
  const std::int64_t grain = together > 1 ? together : kLine;
  const std::int64_t grains = (width + grain - 1) / grain;
  const std::int64_t tiles = std::clamp<std::int64_t>(grains, 1, kMaxUnitTiles);
  std::vector<std::int64_t> borders;
  for (std::int64_t tile = 0; tile <= tiles; ++tile)
    borders.push_back(std::min(width, grains * tile / tiles * grain));
  return borders;
}

Range ModelGroup::part_of_rank(std::int64_t width, int rank, std::int64_t together) const {
  if (!exact_) {
    const Range part = part_of(width / together, rank, size());
    return {part.first * together, part.last * together};
  }
  const std::vector<std::int64_t> borders = unit_borders(width, together);
  const Range tiles = part_of(std::ssize(borders) - 1, rank, size());
  return {borders[static_cast<std::size_t>(tiles.first)], borders[static_cast<std::size_t>(tiles.last)]};
}

template <class Collective>
void ModelGroup::in_turn(int worker, const Slot& slot, Collective collective) {
  slots_[static_cast<std::size_t>(worker)] = slot;
  pool_.barrier();
  // Only worker 0 may communicate; it does so for every worker, in the same order on all ranks.
  if (worker == 0)
    for (const Slot& each : slots_) collective(each);
  pool_.barrier();
}

void ModelGroup::sum(int worker, std::span<float> values) {
  in_turn(worker, {.mine = {}, .all = values}, [&](const Slot& slot) { ranks_.sum(slot.all); });
}

void ModelGroup::gather(int worker, std::span<float> all, std::span<const std::int64_t> counts,
                        std::int64_t size) {
  in_turn(worker, {.mine = {}, .all = all, .lines = size}, [&](const Slot& slot) {
    std::vector<std::int64_t> floats;
    std::int64_t first = 0;
    for (int rank = 0; rank < ranks_.size(); ++rank) {
      floats.push_back(counts[static_cast<std::size_t>(rank)] * slot.lines);
      if (rank < ranks_.rank()) first += floats.back();
    }
    const auto mine = static_cast<std::size_t>(floats[static_cast<std::size_t>(ranks_.rank())]);
    ranks_.all_gather(slot.all.subspan(static_cast<std::size_t>(first), mine), slot.all, floats);
  });
}

void ModelGroup::join_columns(int worker, std::span<const float> mine, std::span<float> whole,
                              std::int64_t width, std::span<float> scratch) {
  const std::int64_t lines = static_cast<std::int64_t>(whole.size()) / width;
  in_turn(worker, {.mine = mine, .all = scratch.first(whole.size()), .lines = lines}, [&](const Slot& slot) {
    std::vector<std::int64_t> counts;
    counts.reserve(static_cast<std::size_t>(size()));
    for (int rank = 0; rank < size(); ++rank)
      counts.push_back(slot.lines * part_of_rank(width, rank).count());
    ranks_.all_gather(slot.mine, slot.all, counts);
  });
  const float* from = scratch.data();
  for (int rank = 0; rank < size(); ++rank) {
    const Range part = part_of_rank(width, rank);
    for (std::int64_t line = 0; line < lines; ++line, from += part.count())
      std::copy_n(from, part.count(), whole.data() + line * width + part.first);
  }
}

std::unique_ptr<Layer> make_exchange(ExchangeKind kind, ModelGroup& group, std::int64_t width) {
  return std::make_unique<Exchange>(kind, group, width);
}

}  // namespace trainer
