#include "cli/reports/reviewed_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/terminal/text.h"
#include "datasets/readers/png.h"
#include "datasets/readers/table_features.h"
#include "engine/core/base64.h"
#include "engine/core/error.h"
#include "engine/system/files.h"
#include "models/losses/link.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLongestText = 300, kMostFields = 40, kMostValues = 16;
constexpr std::int64_t kLongestSide = 64;  // pixels
constexpr float kWhite = 255;

/// A sample (H, W, C) whose elements are in [0, 1], made smaller where it is large, as means of its pixels.
Image image_of(ConstTensor sample) {
  const std::int64_t height = sample.shape()[0], width = sample.shape()[1], channels = sample.shape()[2];
  const std::int64_t every = (std::max(height, width) + kLongestSide - 1) / kLongestSide;
  Image image{.height = (height + every - 1) / every,
              .width = (width + every - 1) / every,
              .channels = static_cast<int>(channels),
              .pixels = {}};
  for (std::int64_t y = 0; y < height; y += every)
    for (std::int64_t x = 0; x < width; x += every)
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        float sum = 0, count = 0;
        for (std::int64_t v = y; v < std::min(y + every, height); ++v)
          for (std::int64_t u = x; u < std::min(x + every, width); ++u, ++count)
            sum += sample[(v * width + u) * channels + channel];
        image.pixels.push_back(
            static_cast<std::uint8_t>(std::clamp(kWhite * sum / count + 0.5f, 0.0f, kWhite)));
      }
  return image;
}

/// Inputs of a table's row by the names of their columns.
Json fields_of(const std::vector<TableColumn>& columns, std::span<const float> elements) {
  const TableFeatures features(columns);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i].use == TableColumn::Use::input) places.push_back(i);
  Json fields = Json::array();
  for (std::size_t input = 0; input < std::min(features.inputs(), kMostFields); ++input) {
    const TableColumn& column = features.column(input);
    const std::span<const float> own = elements.first(features.elements(input));
    elements = elements.subspan(own.size());
    std::string text = "missing";
    if (column.kind == TableColumn::Kind::category) {
      const auto is_one = [](float element) { return element > 0.5f; };
      const auto place = static_cast<std::size_t>(std::ranges::find_if(own, is_one) - own.begin());
      if (place < column.categories.size())
        text = column.categories[place];
      else if (place < own.size() && column.others > 0 && place == column.categories.size())
        text = "other";
    } else if (own.size() == 1 || own[1] == 0) {
      text = short_number(own[0]);
    }
    fields.push_back({column.name.empty() ? fmt::format("column {}", places[input] + 1) : column.name, text});
  }
  return fields;
}

/// Reads samples as people know them.
class SampleReader {
 public:
  SampleReader(const Data& data, const Dataset& split) : data_(data), split_(split) {
    values_.resize(static_cast<std::size_t>(split.sample().size()));
  }

  /// Adds `image`, `fields`, `text` or `values`, if people can read the sample.
  void add_input(std::int64_t index, Json& sample) {
    const Tensor row(values_.data(), split_.sample().with_front(1));
    split_.read(std::span(&index, 1), row);
    const DatasetInfo& info = split_.info();
    if (info.vocabulary > 0) {
      if (info.tokenizer != nullptr) sample["text"] = text_of(index);
      return;
    }
    if (!data_.normalised.empty()) data_.normalised.front()->denormalise(row);
    const Shape& shape = split_.sample();
    if (!data_.form.columns.empty()) {
      sample["fields"] = fields_of(data_.form.columns, values_);
    } else if (shape.rank() == 3 && (shape[2] == 1 || shape[2] == 3)) {
      if (!data_.form.has_pixels) stretch();
      sample["image"] = base64(encoded_png(image_of(ConstTensor(values_.data(), shape))));
    } else if (values_.size() <= kMostValues) {
      sample["values"] = values_;
    }
  }

  /// Adds `target`: the name of a class, or values.
  void add_target(std::int64_t index, Json& sample) const {
    const DatasetInfo& info = split_.info();
    if (info.positions > 0) return;
    if (info.classes > 0) {
      sample["target"] = name_of(split_.label(index));
      return;
    }
    if (info.target.size() > static_cast<std::int64_t>(ReviewedSample::kMostShown)) return;
    std::vector<float> target(static_cast<std::size_t>(info.target.size()));
    split_.read_targets(std::span(&index, 1), Tensor(target.data(), info.target.with_front(1)));
    if (const ChannelStatistics& scaling = data_.target_statistics; !scaling.mean.empty())
      unscale(scaling, target, target);
    sample["target"] = target;
  }

  std::string name_of(std::int32_t label) const {
    const auto& names = split_.info().class_names;
    const auto number = static_cast<std::size_t>(label);
    return number < names.size() ? names[number] : std::to_string(label);
  }

 private:
  std::string text_of(std::int64_t index) const {
    const auto length =
        static_cast<std::size_t>(split_.has_lengths() ? split_.length(index) : std::ssize(values_));
    std::string text;
    for (std::size_t i = 0; i < length && text.size() < kLongestText; ++i)
      text += split_.info().tokenizer->bytes_of(static_cast<Token>(values_[i]));
    return text;
  }

  /// Onto [0, 1], where the range of the elements is not known.
  void stretch() {
    const auto [low, high] = std::ranges::minmax(values_);
    const float range = std::max(high - low, 1e-12f);
    for (float& value : values_) value = (value - low) / range;
  }

  const Data& data_;
  const Dataset& split_;
  std::vector<float> values_;
};

Json json_of(const ReviewedSample& reviewed, bool are_classes, SampleReader& reader) {
  Json sample{{"index", reviewed.index}, {"loss", reviewed.loss}};
  reader.add_target(reviewed.index, sample);
  for (std::size_t i = 0; i < static_cast<std::size_t>(reviewed.shown); ++i)
    if (are_classes)
      sample["predicted"].push_back({reader.name_of(reviewed.elements[i]), reviewed.values[i]});
    else
      sample["outputs"].push_back(reviewed.values[i]);
  reader.add_input(reviewed.index, sample);
  return sample;
}

}  // namespace

std::string samples_json(const Session& session, const Review& review) {
  const Dataset& split = *session.evaluation_data();
  SampleReader reader(session.data(), split);
  Json json;
  json["split"] = session.evaluation_split();
  json["probabilities"] = session.loss().link() != Link::identity;
  for (const auto& [name, samples] :
       {std::pair("worst", &review.worst), std::pair("spread", &review.spread)}) {
    json[name] = Json::array();
    for (const ReviewedSample& one : *samples)
      json[name].push_back(json_of(one, split.classes() > 0, reader));
  }
  for (auto row = review.confusion.begin(); row != review.confusion.end(); row += split.classes())
    json["confusion"].push_back(std::vector(row, row + split.classes()));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void SamplesWriter::on_save() {
  try {
    write();
  } catch (const Error&) {
    // The end of the run writes it again, and warns.
  }
}

void SamplesWriter::write() {
  if (review_.worst.empty()) return;
  write_file(file_, samples_json(session_, review_));
  review_ = {};
}

}  // namespace trainer
