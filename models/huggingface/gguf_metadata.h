#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/little_endian.h"

namespace trainer {

/// Bytes of a GGUF file.
class GgufBytes {
 public:
  template <class T>
  void number(T value) {
    bytes_ += LittleEndian(std::span<const T>(&value, 1)).text();
  }
  void text(std::string_view value) {
    number(static_cast<std::uint64_t>(value.size()));
    bytes_ += value;
  }
  void append(std::string_view bytes) { bytes_ += bytes; }
  void align(std::size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Keys of a GGUF file and their values.
class GgufMetadata {
 public:
  void text(const std::string& key, std::string_view value) {
    begin(key, Type::text);
    bytes_.text(value);
  }
  void count(const std::string& key, std::int64_t value) {
    begin(key, Type::uint32);
    bytes_.number(static_cast<std::uint32_t>(value));
  }
  void real(const std::string& key, double value) {
    begin(key, Type::float32);
    bytes_.number(static_cast<float>(value));
  }
  void truth(const std::string& key, bool value) {
    begin(key, Type::boolean);
    bytes_.number(static_cast<std::uint8_t>(value));
  }
  void texts(const std::string& key, const std::vector<std::string>& values) {
    begin_array(key, Type::text, values.size());
    for (const std::string& value : values) bytes_.text(value);
  }
  void counts(const std::string& key, const std::vector<std::int32_t>& values) {
    begin_array(key, Type::int32, values.size());
    for (const std::int32_t value : values) bytes_.number(value);
  }
  void reals(const std::string& key, const std::vector<float>& values) {
    begin_array(key, Type::float32, values.size());
    for (const float value : values) bytes_.number(value);
  }
  std::uint64_t size() const { return size_; }  ///< number of keys
  const std::string& bytes() const { return bytes_.bytes(); }

 private:
  enum class Type : std::uint32_t { uint32 = 4, int32 = 5, float32 = 6, boolean = 7, text = 8, array = 9 };

  void begin(const std::string& key, Type type) {
    ++size_;
    bytes_.text(key);
    bytes_.number(static_cast<std::uint32_t>(type));
  }
  void begin_array(const std::string& key, Type type, std::size_t count) {
    begin(key, Type::array);
    bytes_.number(static_cast<std::uint32_t>(type));
    bytes_.number(static_cast<std::uint64_t>(count));
  }

  GgufBytes bytes_;
  std::uint64_t size_ = 0;
};

}  // namespace trainer
