#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/flat_values.h"
#include "engine/parallel/gradient_reducer.h"
#include "engine/parallel/parameter_window.h"

namespace trainer {

/// The flat parameters of a rank. Those before `border` are the same on all ranks of the mesh, and lie in a
/// window of all of them; the others differ between model ranks, and lie in a window of the data ranks.
/// Without model ranks, or with a border of 0, there is the latter alone.
class ParameterWindows {
 public:
  /// `borders`, `options`: see ParameterWindow; `border` is one of them. Collective.
  ParameterWindows(Mesh& mesh, const ThreadPool& pool, const std::vector<std::int64_t>& borders,
                   const ParameterWindow::Options& options, std::int64_t border = 0);

  /// All parameters, as ParameterWindow::values().
  FlatValues<float> values();
  FlatValues<const float> values() const;
  /// The floats that this rank updates, ascending. Each float belongs to one of the ranks that hold it.
  const std::vector<Range>& shard() const { return shard_; }
  /// The summed gradients, where they lie in shard(); see ParameterWindow::sums().
  FlatValues<float> sums();

  std::int64_t border() const { return border_; }
  /// The window of all ranks; null if there is none.
  ParameterWindow* front() { return front_ ? &*front_ : nullptr; }
  const ParameterWindow* front() const { return front_ ? &*front_ : nullptr; }
  /// The window of the data ranks.
  ParameterWindow& rest() { return rest_; }
  const ParameterWindow& rest() const { return rest_; }
  /// rest(), if it holds all parameters; else a logic_error.
  ParameterWindow& only();

  bool shards_gradients() const { return rest_.shards_gradients(); }
  bool shards_parameters() const { return rest_.shards_parameters(); }
  /// For work on all values of a range at a time that is not between acquire() and release() of the reducer:
  /// gives memory to sharded parameters while it lives. What is outside this rank's shard is lost at its end.
  class Access {
   public:
    Access(ParameterWindows& windows, const Range& range) : windows_(windows), range_(range) {
      if (windows.shards_parameters()) windows.rest_.commit_values(range);
    }
    ~Access() {
      if (windows_.shards_parameters()) windows_.rest_.release_values(range_);
    }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    ParameterWindows& windows_;
    Range range_;
  };
  Range all() const { return {0, border_ + std::ssize(rest_.values())}; }

  /// Of the window that spans more ranks.
  std::string transport() const { return front_ ? front_->transport() : rest_.transport(); }
  bool lacks_shared_memory() const {
    return rest_.lacks_shared_memory() || (front_ && front_->lacks_shared_memory());
  }
  /// The reducer of all parameters; compression needs only(). `mesh`, `pool` and this object outlive it.
  /// Collective.
  std::unique_ptr<GradientReducer> make_reducer(Mesh& mesh, ThreadPool& pool,
                                                const std::vector<CompressedParameter>& compressed = {});

 private:
  std::int64_t border_;
  std::optional<ParameterWindow> front_;
  ParameterWindow rest_;
  std::vector<Range> shard_;
};

}  // namespace trainer
