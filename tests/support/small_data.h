#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trainer {

/// Bytes of an IDX file: `extents` in the header, and `bytes` of pseudo-random content below `bound`.
std::string idx_bytes(const std::vector<std::uint32_t>& extents, std::size_t bytes, int bound);

/// The four files of MNIST with so many samples, in `directory`.
void write_small_mnist(const std::filesystem::path& directory, std::uint32_t train, std::uint32_t test);

/// CIFAR-10's first training file and its test file with so many samples.
void write_small_cifar10(const std::filesystem::path& directory, std::uint32_t train, std::uint32_t test);

/// A CSV file of numbers, the class in the last column.
std::string small_table(int rows, int columns, int classes);

/// A text of so many letters and spaces at random.
void write_small_text(const std::filesystem::path& path, std::size_t bytes);

void write_text(const std::filesystem::path& path, const std::string& text);
std::string read_text(const std::filesystem::path& path);

}  // namespace trainer
