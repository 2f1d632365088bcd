// fuzz-replay TARGET FOLDER...: gives every file of the folders to a target. Needs no libFuzzer. Ends with 1
// at the first file that throws an unexpected exception, takes longer than a second, or takes more memory
// than a fuzzer may.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <filesystem>
#include <string_view>

#include "engine/system/files.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr double kMaxSeconds = 1;
constexpr long kMaxKib = 512 << 10;

/// Processor time, so that a busy machine does not look like a slow reader.
double seconds_of(const FuzzTarget& target, const std::string& bytes) {
  const std::clock_t start = std::clock();
  target({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

long peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// False when the target failed at this file.
bool replay(const FuzzTarget& target, const fs::path& path) {
  constexpr std::uint64_t kLargest = 64 << 20;
  try {
    const double seconds = seconds_of(target, read_file(path, ExitCode::failure, kLargest));
    if (seconds <= kMaxSeconds && peak_kib() <= kMaxKib) return true;
    fmt::print("{}: {:.1f} s of processor time, {} MiB\n", path.string(), seconds, peak_kib() >> 10);
  } catch (const std::exception& error) {
    fmt::print("{}: {}\n", path.string(), error.what());
  }
  return false;
}

}  // namespace
}  // namespace trainer

int main(int count, char** words) {
  using namespace trainer;
  const std::string_view name = count > 1 ? words[1] : "";
  const auto& targets = FuzzTarget::all();
  const auto target = std::ranges::find(targets, name, &FuzzTarget::name);
  if (target == targets.end()) {
    fmt::print("usage: fuzz-replay TARGET FOLDER...; there is no target `{}`\n", name);
    return 1;
  }
  int replayed = 0;
  for (int i = 2; i < count; ++i) {
    if (!fs::is_directory(words[i])) continue;  // a target without found inputs
    for (const auto& entry : fs::directory_iterator(words[i])) {
      if (!replay(**target, entry.path())) return 1;
      ++replayed;
    }
  }
  fmt::print("{}: {} inputs\n", name, replayed);
  return replayed > 0 ? 0 : 1;
}
