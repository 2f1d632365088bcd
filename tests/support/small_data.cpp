#include "tests/support/small_data.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace trainer {
namespace {

std::string bytes_below(std::size_t count, int bound) {
  std::string bytes(count, '\0');
  std::uint32_t number = 1;
  for (char& byte : bytes) {
    number = number * 1664525 + 1013904223;
    byte = static_cast<char>((number >> 16) % static_cast<std::uint32_t>(bound));
  }
  return bytes;
}

}  // namespace

std::string idx_bytes(const std::vector<std::uint32_t>& extents, std::size_t bytes, int bound) {
  std::string text{0, 0, 8, static_cast<char>(extents.size())};
  for (const std::uint32_t extent : extents)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>((extent >> shift) & 0xFF);
  return text + bytes_below(bytes, bound);
}

void write_small_mnist(const std::filesystem::path& directory, std::uint32_t train, std::uint32_t test) {
  const auto write = [&](const std::string& name, std::uint32_t count) {
    write_text(directory / (name + "-images-idx3-ubyte"), idx_bytes({count, 28, 28}, count * 28 * 28, 256));
    write_text(directory / (name + "-labels-idx1-ubyte"), idx_bytes({count}, count, 10));
  };
  write("train", train);
  write("t10k", test);
}

void write_small_cifar10(const std::filesystem::path& directory, std::uint32_t train, std::uint32_t test) {
  const auto write = [&](const std::string& name, std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i)
      text += static_cast<char>(i % 10) + bytes_below(3 * 32 * 32, 256);
    write_text(directory / name, text);
  };
  write("data_batch_1.bin", train);
  write("test_batch.bin", test);
}

std::string small_table(int rows, int columns, int classes) {
  std::string text;
  for (int column = 0; column < columns; ++column) text += "column " + std::to_string(column) + ',';
  text += "class\n";
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column)
      text += std::to_string((row * 7 + column * 3) % 11) + ".5,";
    text += std::to_string(row % classes) + '\n';
  }
  return text;
}

void write_small_text(const std::filesystem::path& path, std::size_t bytes) {
  std::string text = bytes_below(bytes, 27);
  for (char& letter : text) letter = letter == 26 ? ' ' : static_cast<char>('a' + letter);
  write_text(path, text);
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace trainer
