#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/core/error.h"
#include "engine/parallel/parameter_windows.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/checkpoint_folder.h"
#include "models/checkpoints/hosted_states.h"
#include "models/formats/safetensors.h"
#include "models/network/network_plan.h"
#include "models/training/optimizer_shard.h"

namespace trainer {

/// A checkpoint cannot begin. Thrown on all ranks alike, which may go ahead without it.
class UnwritableCheckpoint final : public Error {
 public:
  explicit UnwritableCheckpoint(const std::string& what) : Error(ExitCode::failure, what) {}
};

/// Writes checkpoints in the background: copies all values between two steps, and a thread of each data rank
/// writes its copy. Each rank writes whole tensors, a contiguous range of both files; if some ranks cannot
/// see the directory, rank 0 writes all. Only the main thread calls MPI. Every rank has one.
class CheckpointWriter {
 public:
  struct Sources {
    const NetworkPlan& plan;
    std::vector<std::string> optimizer_states;  ///< their names
    const ParameterWindows& windows;
    const OptimizerShard& shard;
    HostedStates* hosted = nullptr;  ///< optimizer states beside those of the shard
    std::span<const float> layer_states;
    const Mesh& mesh;
  };
  /// `folder` matters on world rank 0 only. Collective.
  CheckpointWriter(Sources sources, CheckpointFolder folder);
  /// Waits for the threads; an unfinished checkpoint is removed.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Begins a checkpoint, after the one before is written. `state`, `best` and `prepare`, which runs first
  /// and may wait for a disk, matter on world rank 0 only. UnwritableCheckpoint if it cannot begin; another
  /// one may begin later. Collective.
  void begin(const CheckpointState& state, bool best, const std::function<void()>& prepare);
  /// True while this rank writes.
  bool is_writing() const { return writing_; }
  /// Call after every step. `all_written`: no rank writes, the same on all ranks; a thread of rank 0 then
  /// commits the checkpoint. Error(failure) if it cannot be written: on all ranks, or on rank 0 only.
  /// Collective.
  void poll(bool all_written);
  /// Waits until the checkpoint is committed. Collective.
  void finish();

  /// Bytes of the tensors' files of a checkpoint, both together.
  std::uint64_t bytes() const { return model_offsets_.back() + optimizer_offsets_.back(); }
  /// The newest checkpoint, after finish(); on world rank 0.
  const std::filesystem::path& last() const { return folder_.last(); }
  /// The longest time from begin() to commit, on world rank 0.
  std::chrono::steady_clock::duration longest() const { return longest_; }

  /// The first parameter of each writer, and behind the last: nearly equal bytes each.
  static std::vector<std::size_t> cuts(const std::vector<Parameter>& parameters, int writers);

 private:
  using Clock = std::chrono::steady_clock;
  /// A tensor to write.
  struct Tensor {
    const Parameter* parameter = nullptr;  ///< null for a state, which has no file layout
    std::span<const float> values;
    std::vector<float> joined;  ///< memory of `values` of a sharded parameter or a state
  };
  /// Consecutive tensors of a file.
  struct Run {
    int file = 0;
    std::uint64_t offset = 0;
    std::string head;         ///< the header, written before them
    std::vector<float> copy;  ///< memory of most tensors
    std::vector<Tensor> tensors;
    FileSeal seal = {};
    CountedBytes counted = {};
  };

  /// The ranks that share the update of some parameters.
  struct Updaters {
    Communicator& ranks;
    Range floats;                                 ///< of the flat buffer: where these parameters are
    int per_writer = 1;                           ///< every so many of the ranks one is a writer
    std::vector<std::vector<Range>> shards = {};  ///< of each rank
  };

  void add_updaters(Communicator& ranks, const ParameterWindow& window, const Range& floats, int per_writer);
  bool gives_shard() const;
  bool is_writer() const;
  void open_files(const std::string& directory);
  void throw_first_of(const std::string& mine);
  static void count(Run& run);
  void copy_values();
  Run layer_states(StateUse use, int file, std::uint64_t offset) const;
  std::span<const Parameter> parameters_of(int writer) const;
  /// Calls its argument for the segments of an array of this rank's shard.
  using VisitShard = std::function<void(const std::function<void(std::int64_t, std::span<const float>)>&)>;
  std::vector<float> part_of_values();
  std::vector<float> part_of_shards(const VisitShard& visit_shard);
  void collect(const VisitShard& visit_shard, const Updaters& updaters, std::span<float> part);
  std::vector<float> part_of_hosted_state(std::size_t state);
  void join_tensors(Run& run) const;
  void write_parts();
  void reserve_room() const;
  void write_run(Run& run);
  void flush_run(const Run& run);
  void end_parts();
  void commit();
  void wait_for_commit();

  Sources sources_;
  std::size_t shard_states_;  ///< hosted ones follow them in `sources_.optimizer_states`
  CheckpointFolder folder_;
  bool several_hosts_ = false, sees_directory_ = false;  ///< the latter is known after the first checkpoint
  std::vector<Updaters> updaters_;
  std::string heads_[2];
  std::vector<std::uint64_t> model_offsets_;  ///< of parameters, then of the layers' states, then the end
  std::vector<std::uint64_t>
      optimizer_offsets_;  ///< of parameters, state after state, then of layers' states, then the end
  std::vector<std::size_t> first_parameter_;  ///< of each writer, and behind the last

  bool open_ = false;  ///< parts are on their way, the same on all ranks
  std::atomic<bool> writing_{false}, committing_{false};
  std::atomic<int> parts_done_{0};  ///< progress, which distinguishes a slow disk from a stalled one
  std::thread parts_thread_, commit_thread_;
  std::string failure_;  ///< of the thread that was joined last; empty: none
  std::vector<Descriptor> files_;
  std::vector<Run> runs_;
  std::filesystem::path directory_;  ///< of the checkpoint under way
  CheckpointState state_;
  bool best_ = false;
  Clock::time_point begun_;
  Clock::duration longest_{};
};

}  // namespace trainer
