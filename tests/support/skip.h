#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

namespace trainer {

/// Ends the program as Meson wants it of a test that was skipped: for a test case that is a Meson test of its
/// own.
[[noreturn]] inline void skip_test(const std::string& reason) {
  std::cout << "skipped: " << reason << std::endl;
  std::exit(77);
}

/// A path below the folder of real data that TRAINER_TEST_DATA names; skips the test when it is not there.
inline std::string real_data(const std::string& path) {
  const char* const folder = std::getenv("TRAINER_TEST_DATA");
  if (folder == nullptr) skip_test("TRAINER_TEST_DATA names no folder of real data");
  const std::filesystem::path wanted = std::filesystem::path(folder) / path;
  if (!std::filesystem::exists(wanted)) skip_test("no " + wanted.string());
  return wanted.string();
}

}  // namespace trainer
