#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datasets/inputs/sample_decoder.h"
#include "engine/config/config.h"
#include "models/losses/loss.h"
#include "models/network/network.h"

namespace trainer {

/// What a model gives for a sample.
struct Prediction {
  RawSample::Unit unit = RawSample::Unit::file;
  std::string file{};
  std::int64_t place = 0;  ///< as in RawSample
  std::string id{};
  std::string problem{};        ///< why there is none; else empty
  std::int64_t positions = 0;   ///< of a sequence or a map with an answer each; 0: one answer
  std::vector<float> values{};  ///< (positions, answer); or (answer)
};

/// What the values of an answer are.
struct AnswerForm {
  Link link = Link::identity;  ///< softmax: probabilities of classes; sigmoid: of independent labels
  std::int64_t size = 1;       ///< values of one answer
  Shape shape{};               ///< of all values of a sample
  bool has_positions = false;
  std::vector<std::string> names{};  ///< of the values; empty if they have none
};

/// A trained model that predicts samples, without the data of training. Each worker has a network of its own,
/// so the result for a sample does not depend on the other workers; all read the same parameters.
class Predictor {
 public:
  /// The most samples of one call of predict().
  static constexpr std::size_t kRows = 16;

  /// `root`: the configuration of the run. Error(usage) if a layer does not fit.
  Predictor(const Config& root, const DataDescription& data, int workers);
  ~Predictor();

  /// Error(weights) if the file's tensors do not fit.
  void load(const std::filesystem::path& weights);
  const AnswerForm& form() const { return form_; }
  /// Predicts up to kRows samples. Workers call it at the same time.
  std::vector<Prediction> predict(int worker, std::span<const RawSample> samples);

 private:
  struct Worker;

  void read_answer(ConstTensor y, std::int64_t row, std::int32_t length, Prediction& prediction) const;

  const DataDescription& data_;
  Data absent_;
  std::unique_ptr<Loss> loss_;
  AnswerForm form_;
  std::vector<float> values_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace trainer
