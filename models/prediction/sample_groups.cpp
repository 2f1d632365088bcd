#include "models/prediction/sample_groups.h"

#include <cstring>
#include <stdexcept>

namespace trainer {
namespace {

/// So that large images do not take all memory: of a group, and of all groups of a call.
constexpr std::size_t kGroupBytes = std::size_t{1} << 25, kMostBytes = std::size_t{1} << 28;

class Packer {
 public:
  void add(std::int64_t number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void add(const std::string& text) {
    add(std::ssize(text));
    bytes_ += text;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}
  std::int64_t number() {
    std::int64_t number = 0;
    std::memcpy(&number, piece(sizeof number).data(), sizeof number);
    return number;
  }
  std::string text() {
    const std::int64_t size = number();
    return std::string(piece(static_cast<std::size_t>(size)));
  }

 private:
  std::string_view piece(std::size_t size) {
    if (size > bytes_.size()) throw std::logic_error("a message between ranks ends too soon");
    const std::string_view piece = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return piece;
  }

  std::string_view bytes_;
};

}  // namespace

std::vector<SampleGroup> next_groups(SampleSource& source, std::size_t most) {
  std::vector<SampleGroup> groups;
  std::size_t bytes = 0, all_bytes = 0;
  RawSample sample;
  while (source.next(sample, groups.empty()) == SampleSource::Next::sample) {
    if (groups.empty() || groups.back().size() == Predictor::kRows || bytes > kGroupBytes) {
      groups.emplace_back();
      bytes = 0;
    }
    bytes += sample.bytes.size();
    all_bytes += sample.bytes.size();
    groups.back().push_back(std::move(sample));
    const bool is_full = groups.back().size() == Predictor::kRows || bytes > kGroupBytes;
    if (is_full && (groups.size() == most || all_bytes > kMostBytes)) break;
  }
  return groups;
}

std::string packed(const std::vector<SampleGroup>& groups) {
  Packer packer;
  packer.add(std::ssize(groups));
  for (const SampleGroup& group : groups) {
    packer.add(std::ssize(group));
    for (const RawSample& sample : group) {
      packer.add(static_cast<std::int64_t>(sample.kind));
      packer.add(static_cast<std::int64_t>(sample.unit));
      packer.add(sample.file);
      packer.add(sample.place);
      packer.add(sample.id);
      packer.add(sample.bytes);
      packer.add(sample.positions);
      packer.add(sample.problem);
    }
  }
  return packer.take();
}

std::vector<SampleGroup> unpacked_groups(std::string_view bytes) {
  Unpacker unpacker(bytes);
  std::vector<SampleGroup> groups(static_cast<std::size_t>(unpacker.number()));
  for (SampleGroup& group : groups) {
    group.resize(static_cast<std::size_t>(unpacker.number()));
    for (RawSample& sample : group) {
      sample.kind = static_cast<RawSample::Kind>(unpacker.number());
      sample.unit = static_cast<RawSample::Unit>(unpacker.number());
      sample.file = unpacker.text();
      sample.place = unpacker.number();
      sample.id = unpacker.text();
      sample.bytes = unpacker.text();
      sample.positions = unpacker.number();
      sample.problem = unpacker.text();
    }
  }
  return groups;
}

std::string packed(const std::vector<Prediction>& predictions) {
  Packer packer;
  packer.add(std::ssize(predictions));
  for (const Prediction& prediction : predictions) {
    packer.add(static_cast<std::int64_t>(prediction.unit));
    packer.add(prediction.file);
    packer.add(prediction.place);
    packer.add(prediction.id);
    packer.add(prediction.problem);
    packer.add(prediction.positions);
    const auto values = std::as_bytes(std::span(prediction.values));
    packer.add(std::string(reinterpret_cast<const char*>(values.data()), values.size()));
  }
  return packer.take();
}

std::vector<Prediction> unpacked_predictions(std::string_view bytes) {
  Unpacker unpacker(bytes);
  std::vector<Prediction> predictions(static_cast<std::size_t>(unpacker.number()));
  for (Prediction& prediction : predictions) {
    prediction.unit = static_cast<RawSample::Unit>(unpacker.number());
    prediction.file = unpacker.text();
    prediction.place = unpacker.number();
    prediction.id = unpacker.text();
    prediction.problem = unpacker.text();
    prediction.positions = unpacker.number();
    const std::string values = unpacker.text();
    prediction.values.resize(values.size() / sizeof(float));
    if (!values.empty()) std::memcpy(prediction.values.data(), values.data(), values.size());
  }
  return predictions;
}

}  // namespace trainer
