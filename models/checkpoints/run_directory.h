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

/// A text file that grows by whole lines: one that does not fit on the disk is taken back.
class LineFile {
 public:
  /// Error(failure) when the file exists already or cannot be created.
  explicit LineFile(std::filesystem::path path);
  /// Goes on with a file, or creates it. Lines at its end that are incomplete or that `stays` denies are cut
  /// off.
  LineFile(std::filesystem::path path, const std::function<bool(std::string_view line)>& stays);
  /// Error(failure) also when the file has been removed.
  void append(const std::string& line);
  /// To the disk itself.
  void flush() const;
  bool empty() const { return size_ == 0; }

 private:
  void check_name() const;
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;
  Descriptor descriptor_;
  std::int64_t size_ = 0;
};

/// "runs/NAME", where a run leaves all it makes: its description at once, its results as they come.
class RunDirectory final : public Observer {
 public:
  struct Options {
    std::string
        out;  ///< exactly this directory, which must be empty or missing; empty: runs/NAME, NAME-2 ...
    std::string name;  ///< NAME
  };
  /// What is known before the first step, as the text of the files.
  struct Description {
    std::string config, command, environment;
  };
  /// Creates it. Error(usage) when it cannot be, or is not empty.
  RunDirectory(const Options& options, const Description& description);

  /// Opens one that is there, to go on with it. Error(usage) when it is none, or when another process has it
  /// for longer than `patience`.
  explicit RunDirectory(const std::filesystem::path& path,
                        std::chrono::seconds patience = std::chrono::seconds(0));

  /// The text of config.yaml.
  std::string config() const;
  /// From here on the run's files are continued: what they tell of steps after `state` is cut off when
  /// training starts.
  void go_on(const Description& description, const CheckpointState& state);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

  void on_start(const RunFacts& facts) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const StepReport& after, const std::string& split, const Scores& scores) override;
  void on_epoch(const EpochReport& report) override;
  void on_save() override;

 private:
  void lock(std::chrono::seconds patience);

  std::filesystem::path path_;
  Descriptor lock_;
  RunFacts facts_;
  std::optional<CheckpointState> from_;  ///< of a run that goes on
  std::unique_ptr<LineFile> results_, metrics_;
};

/// One line of metrics.jsonl, without the newline.
std::string metrics_line(const RunFacts& facts, const StepReport& report, const std::string& split,
                         const Scores& scores);

/// A text as JSON.
std::string json_text(const std::string& text);

}  // namespace trainer
