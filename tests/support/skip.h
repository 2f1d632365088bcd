#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

namespace trainer {

/// Ends the program with the code that Meson shows as skipped. Only for a test case that is a Meson test of
/// its own.
[[noreturn]] inline void skip_test(const std::string& reason) {
  std::cout << "skipped: " << reason << std::endl;
  std::exit(77);
}

/// A path below the folder of real data that TRAINER_TEST_DATA names; skips the test if it does not exist.
inline std::string real_data(const std::string& path) {
  const char* const folder = std::getenv("TRAINER_TEST_DATA");
  if (folder == nullptr || *folder == '\0') skip_test("no folder of real data: -Dreal_data=FOLDER");
  const std::filesystem::path found = std::filesystem::path(folder) / path;
  if (!std::filesystem::exists(found)) skip_test("no " + found.string());
  return found.string();
}

}  // namespace trainer
