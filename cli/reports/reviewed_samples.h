#pragma once

#include <filesystem>
#include <string>

#include "models/training/observer.h"
#include "models/training/review.h"

namespace trainer {

/// Of a run directory.
inline constexpr const char* kSamplesFile = "samples.json";

/// The reviewed samples of the split that selects the best weights, as JSON: `worst` and `spread`, each
/// with what the network gives and the sample itself: an image, the fields of a table's row, or a text.
/// Reads the samples. Not for a run without such a split.
std::string samples_json(const Session& session, const Review& review);

/// Writes it with each checkpoint after a better evaluation, so that a run that is killed has it, too.
class SamplesWriter final : public Observer {
 public:
  /// `review`: of the best evaluation since the last write, which empties it; empty if there is none.
  SamplesWriter(const Session& session, Review& review, const std::filesystem::path& run)
      : session_(session), review_(review), file_(run / kSamplesFile) {}

  void on_save() override;
  /// Error(failure) if it cannot be written.
  void write();

 private:
  const Session& session_;
  Review& review_;
  std::filesystem::path file_;
};

}  // namespace trainer
