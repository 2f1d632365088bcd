#include "models/training/owned_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "engine/math/elementwise.h"

namespace trainer {

OwnedParameters::OwnedParameters(const Plan& plan, GradientReducer& reducer, std::size_t states) {
  std::int64_t owned = 0;
  for (const auto& piece : reducer.pieces()) owned += piece.last - piece.first;
  states_ = Arena(owned * static_cast<std::int64_t>(states));
  std::size_t position = 0;
  for (const auto& piece : reducer.pieces()) {
    int index = 0;
    for (const Parameter& parameter : plan.parameters()) {
      const std::int64_t first = std::max(piece.first, parameter.offset);
      const std::int64_t last = std::min(piece.last, parameter.offset + parameter.shape.size());
      const int parameter_index = index++;
      if (first >= last) continue;
      const auto size = static_cast<std::size_t>(last - first);
      Segment segment{
          .values = reducer.values().subspan(static_cast<std::size_t>(first), size),
          .gradients = reducer.sums(piece).subspan(static_cast<std::size_t>(first - piece.first), size),
          .is_weight = parameter.is_weight,
          .parameter = parameter_index};
      for (std::size_t state = 0; state < states; ++state)
        segment.states.push_back(
            states_.floats().subspan(position + state * static_cast<std::size_t>(owned), size));
      position += size;
      segments_.push_back(std::move(segment));
      offsets_.push_back(first);
    }
  }
}

bool OwnedParameters::gradients_are_finite() const {
  return std::ranges::all_of(segments_, [](const Segment& segment) {
    return std::isfinite(square_sum(std::ssize(segment.gradients), segment.gradients.data()));
  });
}

std::vector<float> OwnedParameters::gather_state(std::size_t state, std::int64_t parameter_end,
                                                 Communicator& data) const {
  // Each rank sends runs of (offset, count, numbers).
  std::vector<std::byte> message;
  const auto append = [&](const void* begin, std::size_t bytes) {
    const auto* first = static_cast<const std::byte*>(begin);
    message.insert(message.end(), first, first + bytes);
  };
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::span<const float> numbers = segments_[i].states[state];
    const std::int64_t place[2] = {offsets_[i], std::ssize(numbers)};
    append(place, sizeof place);
    append(numbers.data(), numbers.size_bytes());
  }
  const std::vector<std::vector<std::byte>> all = data.gather(message, 0);
  if (data.rank() != 0) return {};
  std::vector<float> flat(static_cast<std::size_t>(parameter_end));
  for (const std::vector<std::byte>& part : all)
    for (std::size_t at = 0; at < part.size();) {
      std::int64_t place[2];
      std::memcpy(place, part.data() + at, sizeof place);
      at += sizeof place;
      const std::size_t bytes = static_cast<std::size_t>(place[1]) * sizeof(float);
      std::memcpy(flat.data() + place[0], part.data() + at, bytes);
      at += bytes;
    }
  return flat;
}

}  // namespace trainer
