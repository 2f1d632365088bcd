#pragma once

#include <cstdint>
#include <string>

namespace trainer {

/// How gradients and updates are compressed where hosts exchange them (`train.compression`).
struct Compression {
  static constexpr const char* kFamily = "compression";

  enum class Method {
    none,     ///< float32
    bf16,     ///< bfloat16: gradients where hosts' sums are added, and changes of parameters
    one_bit,  ///< signs, with error feedback: SignReducer
    powersgd  ///< matrices of low rank, with error feedback: LowRankReducer
  };
  Method method = Method::none;
  int rank = 0;  ///< of powersgd
  /// Of methods with error feedback: parameters with fewer values are sent in float32.
  std::int64_t min_size = 0;
  /// Of one_bit: the share of the momentum of the sums that ranks know, which they add to what they code.
  float momentum = 0;
  static constexpr float kDefaultMomentum = 0.9f;

  bool is_bf16() const { return method == Method::bf16; }
  /// True if ranks keep what they have not sent, and all of them update all parameters.
  bool has_feedback() const { return method == Method::one_bit || method == Method::powersgd; }
  /// Of methods with error feedback: whether a parameter of so many values is sent as it is.
  bool sends_as_float32(std::int64_t size) const { return size < min_size; }
  /// "bf16", "powersgd rank 4"; empty for float32.
  std::string text() const;
  /// Bytes that a value takes between hosts, without feedback.
  int value_bytes() const { return is_bf16() ? 2 : 4; }
};

}  // namespace trainer
