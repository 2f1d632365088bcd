#include "cli/restart.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "engine/core/error.h"
#include "engine/core/files.h"

namespace trainer {
namespace {

constexpr const char* kNote = "TRAINER_RUN_NOTE";
constexpr const char* kRestart = "TRAINER_RESTART";
constexpr const char* kStart = "TRAINER_START";

using Clock = std::chrono::steady_clock;

}  // namespace

RunNote::RunNote() {
  std::string name = (std::filesystem::temp_directory_path() / "trainer-run-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0)
    throw Error(ExitCode::failure, "cannot create " + name + ": " + std::generic_category().message(errno));
  ::close(file);
  file_ = name;
  ::setenv(kNote, name.c_str(), 1);
}

RunNote::~RunNote() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

std::filesystem::path RunNote::run() const {
  constexpr std::uint64_t kLongestPath = 4096;
  try {
    return read_file(file_, ExitCode::failure, kLongestPath);
  } catch (const Error&) {
    return {};
  }
}

void note_run(const std::filesystem::path& directory) {
  if (const char* note = std::getenv(kNote)) write_file(note, directory.string());
}

void restart_from(const std::filesystem::path& run) { ::setenv(kRestart, run.c_str(), 1); }

void note_start(Clock::time_point start) {
  const auto began = std::chrono::system_clock::now() - (Clock::now() - start);
  ::setenv(kStart, std::to_string(std::chrono::system_clock::to_time_t(began)).c_str(), 1);
}

Clock::time_point start_of_job(Clock::time_point own_start) {
  const char* began = std::getenv(kStart);
  if (!began) return own_start;
  const auto age =
      std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(std::atoll(began));
  return std::min(own_start, Clock::now() - std::chrono::duration_cast<Clock::duration>(age));
}

bool is_restart() {
  const char* run = std::getenv(kRestart);
  return run && *run;
}

int ranks_after_loss(const Arguments& arguments, int ranks) {
  const int left = std::max(1, ranks - 1);
  if (!arguments.mesh || left < arguments.mesh->model) return left;
  return left / arguments.mesh->model * arguments.mesh->model;
}

void apply_restart(Arguments& arguments, int ranks) {
  const char* run = std::getenv(kRestart);
  if (!run || arguments.verb != Verb::train) return;
  if (arguments.mesh) {
    const int model = ranks % arguments.mesh->model == 0 ? arguments.mesh->model : ranks;
    arguments.mesh = MeshShape{.data = ranks / model, .model = model};
  }
  // Without a run directory, nothing was begun.
  if (!*run) return;
  arguments.files = {run};
  arguments.initial_weights.clear();
  arguments.out.clear();
  arguments.name.clear();
}

}  // namespace trainer
