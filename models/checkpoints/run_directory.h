#pragma once

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/system/files.h"
#include "models/checkpoints/checkpoint_state.h"
#include "models/training/observer.h"

namespace trainer {

/// A text file that grows by whole lines; a line that does not fit on the disk is removed again.
class LineFile {
 public:
  /// Error(failure) when the file exists already or cannot be created.
  explicit LineFile(std::filesystem::path path);
  /// Resumes a file, or creates it. Removes lines at its end that are incomplete or that `stays` rejects. A
  /// file with hard links is replaced by a copy first.
  LineFile(std::filesystem::path path, const std::function<bool(std::string_view line)>& stays);
  /// Error(failure) also when the file has been removed.
  void append(const std::string& line);
  /// Flushes to the disk (fsync).
  void flush() const;
  bool empty() const { return size_ == 0; }

 private:
  void check_name() const;
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  Descriptor descriptor_;
  std::int64_t size_ = 0;
};

/// In the directory of a run: a row for each update that was skipped.
inline constexpr const char* kSkippedFile = "skipped_updates.csv";

/// The directory of a run, "runs/NAME": its description and its results.
class RunDirectory final : public Observer {
 public:
  struct Options {
    std::string
        out;  ///< exactly this directory, which must be empty or missing; empty: runs/NAME, NAME-2 ...
    std::string name;  ///< NAME
  };
  /// The texts of the files that exist before the first step.
  struct Description {
    std::string config, command, environment;
  };
  /// Creates the directory. Error(usage) if that fails or it is not empty.
  RunDirectory(const Options& options, const Description& description);

  /// Opens a run directory to resume its run. Error(usage) if `path` is none, or if another process holds its
  /// lock for longer than `patience`.
  explicit RunDirectory(const std::filesystem::path& path,
                        std::chrono::seconds patience = std::chrono::seconds(0));

  /// The text of config.yaml.
  std::string config() const;
  /// Resumes the run's files: on_start() removes lines of steps after `state`.
  void resume(const Description& description, const CheckpointState& state);
  /// Adds what happened to the start of the run under way, one line, behind its command.
  void add_note(const std::string& what);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

  void on_start(const RunFacts& facts) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const StepReport& after, const std::string& split, const Scores& scores) override;
  void on_epoch(const EpochReport& report) override;
  void on_save() override;
  void on_chain(const std::string& lines) override;

 private:
  void lock(std::chrono::seconds patience);
  /// Opens gradients.csv if gradients are logged.
  void begin_gradients();
  void add_skipped(const StepReport& report);
  /// Opens chain.jsonl; of a resumed run it ends with the chain value of the checkpoint. Error(weights) if it
  /// does not hold that value.
  void begin_chain();

  std::filesystem::path path_;
  Descriptor lock_;
  RunFacts facts_;
  std::optional<CheckpointState> from_;  ///< of a resumed run
  std::unique_ptr<LineFile> results_, metrics_;
  std::unique_ptr<LineFile> gradients_;  ///< null if they are not logged
  std::unique_ptr<LineFile> skipped_;    ///< of skipped updates; null before the first one
  std::unique_ptr<LineFile> chain_;      ///< null before its first line
};

/// One line of metrics.jsonl, without the newline.
std::string metrics_line(const RunFacts& facts, const StepReport& report, const std::string& split,
                         const Scores& scores);

/// A text as JSON.
std::string json_text(const std::string& text);

}  // namespace trainer
