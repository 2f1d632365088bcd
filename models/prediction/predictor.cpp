#include "models/prediction/predictor.h"

#include <algorithm>
#include <array>

#include "datasets/inputs/text_samples.h"
#include "models/checkpoints/weights.h"
#include "models/prediction/own_statistics.h"

namespace trainer {
namespace {

/// Layers that keep a state between batches begin anew with each sample.
constexpr std::array<std::int64_t, Predictor::kRows> kFirstSamples{};

}  // namespace

struct Predictor::Worker {
  Worker(const Config& root, const DataDescription& data, const Tokenizer* tokenizer)
      : network(
            root.at("model").items("layers"), data.info.sample,
            {.batch = kRows, .seed = static_cast<std::uint64_t>(root.at("train").get<std::int64_t>("seed"))}),
        decoder(data, tokenizer) {}

  Network network;
  SampleDecoder decoder;
  OwnStatistics statistics;
  std::vector<std::int32_t> lengths;
};

Predictor::Predictor(const Config& root, const DataDescription& data, int workers)
    : data_(data), absent_(absent_data(data, "the description of the data")) {
  const Tokenizer* tokenizer = absent_.train->info().tokenizer;
  for (int worker = 0; worker < workers; ++worker)
    workers_.push_back(std::make_unique<Worker>(root, data, tokenizer));
  loss_ = Registry<Loss>::make(root.at("model").at("loss"));
  form_.link = loss_->link();
  form_.shape = workers_.front()->network.output();
  const bool is_text = data.info.vocabulary > 0;
  form_.has_positions = data.info.positions > 0 && !is_text;
  const Shape& output = form_.shape;
  form_.size = data.info.positions > 0 && output.rank() > 0 ? output[output.rank() - 1] : output.size();
  if (is_text) form_.shape = Shape{form_.size};
  if (form_.link == Link::softmax || data.info.classes == form_.size || data.info.classes == 0)
    form_.names = data.info.class_names;
  if (std::ssize(form_.names) != form_.size) form_.names.clear();
  if (is_text && form_.size == tokenizer->vocabulary())
    for (Token token = 0; token < static_cast<Token>(form_.size); ++token)
      form_.names.emplace_back(tokenizer->bytes_of(token));
}

Predictor::~Predictor() = default;

void Predictor::load(const std::filesystem::path& weights) {
  Network& first = workers_.front()->network;
  values_.resize(static_cast<std::size_t>(first.plan().parameter_end()));
  load_weights(weights.string(), first.plan(), values_, first.states());
  for (const auto& worker : workers_) {
    if (worker != workers_.front()) std::ranges::copy(first.states(), worker->network.states().begin());
    worker->network.attach(values_, {{}, worker->statistics});
  }
}

std::vector<Prediction> Predictor::predict(int worker, std::span<const RawSample> samples) {
  Worker& self = *workers_[static_cast<std::size_t>(worker)];
  std::vector<Prediction> predictions;
  std::vector<std::size_t> good;
  self.lengths.clear();
  const Tensor all = self.network.input(0, std::ssize(samples));
  for (const RawSample& sample : samples) {
    predictions.push_back({.unit = sample.unit,
                           .file = sample.file,
                           .place = sample.place,
                           .id = sample.id,
                           .problem = sample.problem});
    if (!sample.problem.empty()) continue;
    try {
      const std::span<float> row = all.rows(std::ssize(good), 1).span();
      self.lengths.push_back(self.decoder.decode(sample, row));
      good.push_back(predictions.size() - 1);
    } catch (const Error& error) {
      predictions.back().problem = problem_text(error);
    }
  }
  if (good.empty()) return predictions;
  const std::int64_t rows = std::ssize(good);
  const Tensor x = self.network.input(0, rows);
  if (!absent_.normalised.empty()) absent_.normalised.front()->normalise(x);
  const bool is_padded = data_.info.has_lengths || data_.info.vocabulary > 0;
  const ConstTensor y = self.network.forward(
      0,
      {.mode = Mode::evaluation,
       .samples = std::span(kFirstSamples).first(good.size()),
       .batch_rows = rows,
       .lengths = is_padded ? std::span<const std::int32_t>(self.lengths) : std::span<const std::int32_t>()});
  for (std::size_t row = 0; row < good.size(); ++row)
    read_answer(y, static_cast<std::int64_t>(row), self.lengths[row], predictions[good[row]]);
  return predictions;
}

void Predictor::read_answer(ConstTensor y, std::int64_t row, std::int32_t length,
                            Prediction& prediction) const {
  std::span<const float> outputs = y.rows(row, 1).span();
  const auto size = static_cast<std::size_t>(form_.size);
  if (data_.info.vocabulary > 0 && outputs.size() > size) {
    // What follows the text.
    outputs = outputs.subspan((static_cast<std::size_t>(length) - 1) * size, size);
  } else if (form_.has_positions) {
    if (data_.info.has_lengths) outputs = outputs.first(static_cast<std::size_t>(length) * size);
    prediction.positions = static_cast<std::int64_t>(outputs.size() / size);
  }
  prediction.values.resize(outputs.size());
  for (std::size_t first = 0; first < outputs.size(); first += size) {
    const RowPredictions answer(form_.link, outputs.subspan(first, size));
    for (std::size_t k = 0; k < size; ++k) prediction.values[first + k] = static_cast<float>(answer[k]);
  }
  if (!data_.target_statistics.mean.empty())
    unscale(data_.target_statistics, prediction.values, prediction.values);
}

}  // namespace trainer
