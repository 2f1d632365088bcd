#include "tests/end_to_end/small_run.h"

#include <cstdlib>
#include <stdexcept>

namespace trainer {

SmallRun::SmallRun() {
  write_text(path("a.yaml"), kSmallRun);
  std::filesystem::create_directory(path("set"));
  write_small_mnist(path("set"), 40, 20);
}

ProgramOptions SmallRun::options(double seconds) const {
  // Independent of the machine's own data, settings and caches.
  return {.directory = folder_.path(),
          .environment = {{"TRAINER_DATA", "/nowhere"},
                          {"HOME", folder_.path().string()},
                          {"OMP_NUM_THREADS", "1"},
                          {"LC_ALL", "C.UTF-8"},
                          {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                          {"OMPI_MCA_rmaps_base_oversubscribe", "1"}},
          .seconds = seconds};
}

ProgramResult SmallRun::trainer(std::vector<std::string> words, int ranks, double seconds) const {
  words.insert(words.begin(), setting_of_tests("TRAINER"));
  if (ranks > 1) words.insert(words.end(), {"-n", std::to_string(ranks)});
  return run_program(words, options(seconds));
}

ProgramResult SmallRun::shell(const std::string& line, double seconds) const {
  // HOME is this run's own folder, whatever stands between the shell and its ranks.
  const std::string ranks =
      "ranks() { grep -lzxF \"HOME=$HOME\" /proc/[0-9]*/environ 2>/dev/null | "
      "xargs -r grep -lzxE \"(OMPI_COMM_WORLD|PMI)_RANK=$1\" 2>/dev/null | cut -d/ -f3; }; ";
  return run_program({"sh", "-c", ranks + line}, options(seconds));
}

std::string setting_of_tests(const char* variable) {
  const char* value = std::getenv(variable);
  if (!value) throw std::runtime_error(std::string(variable) + " is not set; run these tests by meson test");
  return value;
}

bool is_built_with(const std::string& sanitizer) {
  return setting_of_tests("SANITIZERS").find(sanitizer) != std::string::npos;
}

int occurrences(const std::string& text, const std::string& word) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

double number_after(const std::string& text, const std::string& before) {
  const std::size_t at = text.find(before);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + before.size()));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no " + from + " to replace");
  return text.replace(at, from.size(), to);
}

}  // namespace trainer
