#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/loading/data.h"
#include "engine/core/error.h"
#include "tests/support/temporary_folder.h"

namespace trainer {

using Bytes = std::vector<std::uint8_t>;

/// A folder that lives as long as the test, and the files in it.
class TemporaryDirectory {
 public:
  /// Writes a file (and the directories above it) and gives its path.
  std::string write(std::string_view name, const Bytes& bytes) const;
  std::string path(std::string_view name = "") const { return (folder_.path() / name).string(); }

 private:
  TemporaryFolder folder_;
};

/// The bytes as a gzip file.
Bytes gzipped(const Bytes& bytes);

/// An IDX file of unsigned bytes: header for `extents`, then `elements`.
Bytes idx_bytes(std::initializer_list<std::uint32_t> extents, const Bytes& elements,
                std::uint8_t type = 0x08);

/// Opens `data:` settings, one a line: "dataset: mnist".
Data opened(const std::string& settings, std::uint64_t seed = 1, bool with_samples = true);

/// The elements of one sample.
std::vector<float> read_one(const Dataset& dataset, std::int64_t index);

/// The values of one sample's target.
std::vector<float> targets_of(const Dataset& dataset, std::int64_t index);

/// A text's bytes.
Bytes bytes_of(std::string_view text);

/// The message of the Error(data) that `action` throws; fails the test when it throws none or another.
template <class Action>
std::string data_error(Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::data);
    return error.what();
  }
  FAIL("no error was thrown");
  return "";
}

}  // namespace trainer
