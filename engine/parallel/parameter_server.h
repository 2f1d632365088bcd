#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/core/memory_ledger.h"
#include "engine/core/range.h"
#include "engine/parallel/communicator.h"
#include "engine/parallel/staleness_bound.h"

namespace trainer {

/// A parameter server that is spread over its workers (Li et al., OSDI 2014): each rank owns a shard of the
/// parameters and is a worker. Workers compute gradients of units, which rank 0 hands out in order, and write
/// each owner its shard of them. A thread of the owner updates its shard, gradient by gradient in the order
/// of a StalenessBound, and writes the values to the worker. No rank waits for the step of another one unless
/// the bound asks for it.
///
/// With at most bound + 1 workers all compute at the same time. Else rank 0 lets bound + 1 of them compute:
/// the other owners are asked when it has answered, so that all have gradients of the same workers under
/// way.
class ParameterServer {
 public:
  struct Options {
    std::int64_t floats = 0;  ///< of the flat parameters
    Range shard = {};         ///< of this rank; those of all ranks make up the flat parameters
    std::int64_t bound = 0;   ///< of the staleness
    std::int64_t notes = 0;   ///< doubles beside each gradient, for rank 0
  };
  /// What an owner does with its shard. Called by one thread at a time, not the main one.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The values of its shard for a worker; `expected`: the updates to expect before the one by its
    /// gradient. Valid until the next call.
    virtual std::span<const float> values(std::int64_t expected) = 0;
    /// Updates them by the gradient of a unit. `share`: see Result; `version`: updates before this one.
    virtual void update(std::int64_t unit, double share, std::span<const float> gradient,
                        std::int64_t version) = 0;
    /// A worker's notes for a unit that it has computed; on rank 0.
    virtual void take_notes(std::int64_t unit, std::span<const double> notes) = 0;
  };

  /// `ranks` outlives this object. Collective.
  ParameterServer(Communicator& ranks, const Options& options);
  ParameterServer(const ParameterServer&) = delete;
  ParameterServer& operator=(const ParameterServer&) = delete;

  /// How many workers compute at a time.
  int workers_at_a_time() const;

  /// Begins to hand out these units, of which each group of as many as ranks begins at a multiple of their
  /// number, and to update this rank's shard, whose version is `version` now. No rank waits for another one.
  void begin(const Range& units, std::int64_t version, Owner& owner);
  // next(), give(), leave() and end() throw Error(lost) if MPI fails; next(), give() and end() rethrow what
  // the owner threw.

  /// Pulls: waits for a unit to compute, and for the values of all parameters. None: all are handed out.
  std::optional<std::int64_t> next(std::span<float> values);
  /// What a worker's unit gave.
  struct Result {
    std::int64_t unit = 0;
    double share = 0;  ///< a factor of the learning rate; 0: there is no gradient
    std::span<const float> gradient = {};
    std::span<const double> notes = {};
    bool ends_early = false;  ///< no more groups of units are handed out
  };
  /// Pushes a gradient. To be called after each next() that gave a unit, unless this worker leaves.
  void give(const Result& result);
  /// This worker gives no result, takes no unit, and no more groups of units are handed out.
  void leave();
  /// Waits until this rank's shard has the updates of all ranks. Returns the end of the units that were
  /// handed out, the same on all ranks, unless this worker has left.
  std::int64_t end();

  /// The staleness of this worker's last gradient, the largest over all shards; known at the next next().
  std::int64_t staleness() const { return staleness_; }

  /// Gives the memory back. Collective.
  void close();

 private:
  struct Header;
  struct Answer;

  bool is_gated() const { return workers_at_a_time() < ranks_.size(); }
  std::int64_t offset_of_answer(int owner) const;
  std::int64_t offset_of_header(int worker) const;
  std::int64_t offset_of_notes(int worker) const;
  std::int64_t offset_of_gradient(int owner, int worker) const;
  std::int64_t bytes() const;
  template <class T>
  T& at(std::int64_t offset);

  // Of the worker:
  void write_result(const Result& result);
  void ask(int first_owner, int last_owner);
  void wait_for(int owner, std::int64_t counter, std::int64_t count);
  void set_at_owners(std::int64_t counter, std::int64_t value);
  void take_staleness();
  // Of the owner, on its thread:
  void serve(const std::stop_token& stop);
  int oldest_given() const;
  bool take_gradients();
  void take_result(int worker, const Header& header);
  bool answer_workers();
  bool have_all_left();
  void end_early();

  Communicator& ranks_;
  Options options_;
  std::vector<Range> shards_;  ///< by rank
  std::unique_ptr<RemoteMemory> memory_;
  CountedBytes count_;
  std::int64_t stretch_ = 0;  ///< the number of begin() calls

  std::vector<std::int64_t> asked_;  ///< by owner, apart from the results
  std::int64_t given_ = 0, staleness_ = 0, units_end_ = 0;

  StalenessBound order_;
  Owner* owner_ = nullptr;
  Range units_;  ///< on rank 0: that are not handed out
  std::int64_t first_unit_ = 0;
  /// Of a worker, as its owner sees it.
  struct Worker {
    std::int64_t taken = 0, answered = 0;  ///< gradients, questions
    std::int64_t staleness = 0;            ///< of its last gradient
    bool has_left = false;
  };
  std::vector<Worker> workers_;
  int turn_ = 0;  ///< the worker that is answered first
  std::exception_ptr problem_;
  std::atomic<bool> has_failed_{false};
  std::jthread thread_;  // last: it uses the others
};

}  // namespace trainer
