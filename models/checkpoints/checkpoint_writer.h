#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/parallel/parameter_window.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint.h"
#include "models/formats/safetensors.h"
#include "models/network/network_plan.h"
#include "models/training/optimizer_shard.h"

namespace trainer {

/// Writes checkpoints beside training: takes a copy of all numbers between two steps, which a thread of each
/// data rank then brings to the disk. Each writes a part of both files that begins and ends with a tensor;
/// where ranks do not see the directory, rank 0 writes all. No thread but the main one calls MPI. Every rank
/// has one.
class CheckpointWriter {
 public:
  struct Sources {
    const NetworkPlan& plan;
    std::vector<std::string> optimizer_states;  ///< their names
    const ParameterWindow& window;
    const OptimizerShard& owned;
    std::span<const float> layer_states;
    const Mesh& mesh;
  };
  /// `folder` matters on world rank 0 only. Collective.
  CheckpointWriter(Sources sources, CheckpointFolder folder);
  /// Waits for the threads; what is not finished leaves nothing.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Begins a checkpoint; finishes the one before, if need be. `state`, `best` and `prepare`, which comes
  /// first and may take the time of a disk, matter on world rank 0 only. Collective.
  void begin(const CheckpointState& state, bool best, const std::function<void()>& prepare);
  /// True while this rank's part is on its way.
  bool is_writing() const { return writing_; }
  /// For every step. `all_written`: no rank's part is on its way, the same on all ranks. Then the checkpoint
  /// gets its name, beside training again. Error(failure) when it could not be written: on all ranks, or on
  /// rank 0 only. Collective.
  void go_on(bool all_written);
  /// Waits until the checkpoint is there. Collective.
  void finish();

  /// The newest one, once finish() was called; on world rank 0.
  const std::filesystem::path& last() const { return folder_.last(); }
  /// The longest time from begin() to the end of it, on world rank 0.
  std::chrono::steady_clock::duration longest() const { return longest_; }

 private:
  using Clock = std::chrono::steady_clock;
  /// A tensor as it lies in memory; null for numbers that go to the file as they are.
  struct Tensor {
    const Parameter* parameter = nullptr;
    std::span<const float> numbers;
    std::vector<float> joined;  ///< what `numbers` are when the tensor was cut over model ranks
  };
  /// Tensors that lie one behind the other in a file.
  struct Run {
    int file = 0;
    std::uint64_t offset = 0;
    std::string head;         ///< bytes before them
    std::vector<float> copy;  ///< what the numbers of most tensors lie in
    std::vector<Tensor> tensors;
    FileSeal seal = {};
  };

  void cut(int writers);
  bool is_writer() const;
  void open_files(const std::string& directory);
  void take_copy();
  std::span<const Parameter> parameters_of(int writer) const;
  std::vector<float> part_of_values() const;
  std::vector<float> part_of_state(std::size_t state);
  void join_tensors(Run& run) const;
  void write_parts();
  void reserve_room() const;
  void write_run(Run& run);
  void flush_run(const Run& run);
  void end_parts();
  void commit();
  void wait_for_commit();

  Sources sources_;
  CheckpointFolder folder_;
  bool several_hosts_ = false, sees_directory_ = false;  ///< the latter is known after the first checkpoint
  std::vector<std::vector<Range>> shards_;               ///< of each data rank
  std::string heads_[2];
  std::vector<std::uint64_t> model_offsets_;      ///< of parameters, then of the layers' states, then the end
  std::vector<std::uint64_t> optimizer_offsets_;  ///< of parameters, state after state, then the end
  std::vector<std::size_t> first_parameter_;      ///< of each writer, and behind the last

  bool open_ = false;  ///< parts are on their way, the same on all ranks
  std::atomic<bool> writing_{false}, committing_{false};
  std::atomic<int> parts_done_{0};  ///< of its work, to tell a slow disk from one that stands still
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
