#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/core/files.h"
#include "models/training/observer.h"

namespace trainer {

/// A text file that grows by whole lines: one that does not fit on the disk is taken back.
class LineFile {
 public:
  /// Error(failure) when the file exists already or cannot be created.
  explicit LineFile(std::filesystem::path path);
  void append(const std::string& line);

 private:
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

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }

  void on_start(const RunFacts& facts) override;
  void on_step(const StepReport& report) override;
  void on_evaluation(const StepReport& after, const std::string& split, const Scores& scores) override;
  void on_epoch(const EpochReport& report) override;

 private:
  std::filesystem::path path_;
  RunFacts facts_;
  std::unique_ptr<LineFile> results_, metrics_;
};

/// One line of metrics.jsonl, without the newline.
std::string metrics_line(const RunFacts& facts, const StepReport& report, const std::string& split,
                         const Scores& scores);

/// Text and numbers as JSON; null for a number that is not finite.
std::string json_text(const std::string& text);
std::string json_number(double number);

}  // namespace trainer
