#include "models/exporting/c/operation.h"

#include <fmt/format.h>

#include <cmath>
#include <variant>

#include "engine/core/error.h"

namespace trainer {

template <class T>
T CNode::setting(const std::string& name, T fallback) const {
  const auto found = node_.attributes.find(name);
  return found == node_.attributes.end() ? std::move(fallback) : std::get<T>(found->second);
}

std::int64_t CNode::integer(const std::string& name, std::int64_t fallback) const {
  return setting(name, fallback);
}
std::vector<std::int64_t> CNode::integers(const std::string& name, std::vector<std::int64_t> fallback) const {
  return setting(name, std::move(fallback));
}
float CNode::real(const std::string& name, float fallback) const { return setting(name, fallback); }
std::string CNode::word(const std::string& name, const std::string& fallback) const {
  return setting(name, fallback);
}
std::vector<std::string> CNode::words(const std::string& name) const {
  return setting(name, std::vector<std::string>());
}

const COperation* find_c_operation(std::string_view operation) {
  for (const auto& group :
       {convolution_operations(), pooling_operations(), product_operations(), elementwise_operations(),
        norm_operations(), movement_operations(), recurrent_operations()})
    for (const COperation& candidate : group)
      if (candidate.operation == operation) return &candidate;
  return nullptr;
}

std::int64_t product(const Extents& extents, std::size_t first, std::size_t last) {
  std::int64_t size = 1;
  for (std::size_t i = first; i < last; ++i) size *= extents[i];
  return size;
}

std::string listed(std::span<const std::int64_t> values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string c_number(float value) {
  if (!std::isfinite(value)) throw Error(ExitCode::weights, "the weights are not finite");
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

}  // namespace trainer
