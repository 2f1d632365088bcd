#include "models/network/row_exchange.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "engine/core/arena.h"

namespace trainer {
namespace {

/// The workers of a rank have one buffer for each direction, so that a group gathers once; a single worker
/// needs none.
class RowExchange final : public Layer, public Exchanging {
 public:
  RowExchange(ModelGroup& group, const RowSplit& rows, bool sums) : group_(group), rows_(rows), sums_(sums) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    plan.backward_reads(false, false);
    width_ = sample.size();
    has_gradient_ = plan.has_parameters();
    most_rows_ = plan.batch();
    return sample;
  }

  bool separates_documents() const override { return true; }
  ExchangeTraffic traffic() const override {
    return {.gathered_forward = width_,
            .scattered_backward = has_gradient_ && sums_ ? width_ : 0,
            .once_a_rank = true};
  }

  void forward(ConstTensor x, Tensor y, Pass& pass) override {
    const std::span<float> all = buffer(forward_, y, pass);
    std::ranges::copy(x.span(), all.begin() + width_ * first_own_row(pass));
    group_.pool().barrier();
    if (pass.worker() == 0) {
      const std::vector<std::int64_t> counts = counts_of(pass);
      group_.ranks().all_gather(own_part(all, counts), all, counts);
    }
    group_.pool().barrier();
    if (all.data() != y.data()) std::copy_n(all.begin() + width_ * first_row(pass), y.size(), y.data());
  }

  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) override {
    if (dx.empty()) return;
    const std::span<float> all = buffer(backward_, dy, pass);
    if (all.data() != dy.data()) std::ranges::copy(dy.span(), all.begin() + width_ * first_row(pass));
    group_.pool().barrier();
    if (pass.worker() == 0 && sums_) group_.ranks().start_reduce_scatter(all, counts_of(pass))->wait();
    group_.pool().barrier();
    std::copy_n(all.begin() + width_ * first_own_row(pass), dx.size(), dx.data());
  }

 private:
  /// Memory that all workers allocate together.
  struct Shared {
    std::once_flag allocated;
    Arena memory;
  };

  Range group_rows(const Pass& pass) const {
    return rows_.whole.rows(rows_.whole.of_rank(rows_.data_rank), pass.batch_rows());
  }
  int split_rank(int model_rank) const { return rows_.data_rank * group_.size() + model_rank; }
  /// Where the worker's rows of the first layers begin in those of the group; where those of the others do.
  std::int64_t first_own_row(const Pass& pass) const {
    const Range mine = rows_.split.of_worker(split_rank(group_.rank()), pass.worker());
    return rows_.split.rows(mine, pass.batch_rows()).first - group_rows(pass).first;
  }
  std::int64_t first_row(const Pass& pass) const { return pass.first_row() - group_rows(pass).first; }
  /// Floats of the rows of each rank of the group.
  std::vector<std::int64_t> counts_of(const Pass& pass) const {
    std::vector<std::int64_t> counts;
    counts.reserve(static_cast<std::size_t>(group_.size()));
    for (int rank = 0; rank < group_.size(); ++rank)
      counts.push_back(width_ *
                       rows_.split.rows(rows_.split.of_rank(split_rank(rank)), pass.batch_rows()).count());
    return counts;
  }
  std::span<float> own_part(std::span<float> all, const std::vector<std::int64_t>& counts) const {
    std::int64_t first = 0;
    for (int rank = 0; rank < group_.rank(); ++rank) first += counts[static_cast<std::size_t>(rank)];
    return all.subspan(static_cast<std::size_t>(first),
                       static_cast<std::size_t>(counts[static_cast<std::size_t>(group_.rank())]));
  }
  /// All rows of the group. A single worker has them in its tensor.
  std::span<float> buffer(Shared& shared, Tensor own, const Pass& pass) const {
    if (group_.pool().size() == 1) return own.span();
    std::call_once(shared.allocated, [&] {
      const Range most = rows_.whole.rows(rows_.whole.of_rank(rows_.data_rank), most_rows_);
      shared.memory = Arena(width_ * (most.count() + 1));  // a shorter batch may be cut one row later
    });
    return shared.memory.floats().first(static_cast<std::size_t>(width_ * group_rows(pass).count()));
  }

  ModelGroup& group_;
  RowSplit rows_;
  bool sums_;
  std::int64_t width_ = 0, most_rows_ = 0;
  bool has_gradient_ = false;
  Shared forward_, backward_;
};

}  // namespace

std::unique_ptr<Layer> make_row_exchange(ModelGroup& group, const RowSplit& rows, bool sums) {
  return std::make_unique<RowExchange>(group, rows, sums);
}

}  // namespace trainer
