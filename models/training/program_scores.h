#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/system/files.h"
#include "models/training/evaluation.h"

namespace trainer {

struct ScoringProgram;

/// Scores an evaluation by the programs of train.metrics. World rank 0 writes predictions, as
/// `trainer predict --npy` does, and targets of all samples in their order as files of NumPy, and starts the
/// programs with both as last arguments; the other ranks wait. All ranks make the same calls.
class ProgramScores final : public OutputSink {
 public:
  /// `folder`: of the files; it matters on world rank 0 only. `stays`: people find the files there.
  ProgramScores(const Session& session, std::filesystem::path folder, bool stays = true)
      : session_(session), folder_(std::move(folder)), stays_(stays) {}
  /// True if metrics of the run are programs.
  static bool exist(const Session& session);
  /// True if the run evaluates with them.
  static bool are_needed(const Session& session);
  /// Error(usage) if a program of the metrics cannot be started on this host.
  static void check(const Session& session);

  /// The evaluation of a split begins.
  void begin(const Dataset& split);
  void add(std::span<const std::int64_t> samples, const BatchRunner& runner) override;
  /// Puts the scores of all programs into `scores`. False if `stop` became true on world rank 0 before.
  /// Error(failure) on all ranks if a program fails, takes too long or prints no number. Collective.
  bool run(Scores& scores, const std::function<bool()>& stop);

 private:
  /// An array of NumPy with a row for each sample.
  struct Array {
    std::filesystem::path path;
    Descriptor file = Descriptor(-1);
    std::size_t begin = 0, row_bytes = 0;

    void write(std::int64_t row, std::span<const std::byte> bytes) const;
  };

  bool is_writer() const { return session_.mesh().world().rank() == 0; }
  Array new_array(const char* name, const char* type, const Shape& row, std::int64_t rows) const;
  void append_predictions(ConstTensor outputs, std::vector<float>& to) const;
  /// Empty when it was stopped.
  std::optional<double> score(const ScoringProgram& program, const std::function<bool()>& stop) const;

  const Session& session_;
  std::filesystem::path folder_;
  bool stays_;
  Array predictions_, targets_;
};

}  // namespace trainer
