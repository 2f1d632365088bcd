#pragma once

#include <cstring>

#include "tests/datasets/files.h"

namespace trainer {

/// An npy file of version 1 as numpy writes it, or with a header that a test thought of.
inline Bytes npy(const std::string& header, const Bytes& content) {
  Bytes bytes = bytes_of("\x93NUMPY");
  bytes.insert(bytes.end(), {1, 0, static_cast<std::uint8_t>(header.size() & 0xff),
                             static_cast<std::uint8_t>(header.size() >> 8)});
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), content.begin(), content.end());
  return bytes;
}

inline std::string header(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }          \n";
}

template <class Number>
Bytes stored(const std::vector<Number>& values) {
  Bytes bytes(values.size() * sizeof(Number));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace trainer
