#pragma once

#include <fmt/format.h>

#include <numeric>
#include <string>

#include "tests/datasets/files.h"

namespace trainer {

/// The header of a member and its content in whole blocks. `size`: what the header claims.
inline Bytes tar_member(const std::string& name, const Bytes& content, char type = '0',
                        const std::string& size = "") {
  constexpr std::size_t kBlock = 512;
  std::string header(kBlock, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(124, size.empty() ? fmt::format("{:011o}", content.size()) : size);
  put(148, "        ");
  put(156, std::string(1, type));
  put(257, std::string("ustar\00000", 8));
  const int sum = std::accumulate(header.begin(), header.end(), 0, [](int before, char byte) {
    return before + static_cast<unsigned char>(byte);
  });
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  Bytes bytes = bytes_of(header);
  bytes.insert(bytes.end(), content.begin(), content.end());
  bytes.resize((bytes.size() + kBlock - 1) / kBlock * kBlock);
  return bytes;
}

/// An archive of these members.
inline Bytes tar_file(const std::vector<Bytes>& members) {
  Bytes all;
  for (const Bytes& member : members) all.insert(all.end(), member.begin(), member.end());
  all.resize(all.size() + 1024);
  return all;
}

}  // namespace trainer
