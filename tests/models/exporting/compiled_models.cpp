#include "tests/models/exporting/compiled_models.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>

#include "tests/support/program.h"
#include "tests/support/small_data.h"

namespace trainer {

CompiledModels::CompiledModels(const std::vector<std::string>& files) {
  std::vector<std::string> words{C_COMPILER, "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror",
                                 "-O1",      "-shared",  "-fPIC", "-o",      "models.so"};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = "model" + std::to_string(i) + ".c";
    write_text(folder_.path() / name, "#define predict predict" + std::to_string(i) + "\n" + files[i]);
    words.push_back(name);
  }
  words.push_back("-lm");
  const ProgramResult compiled = run_program(words, {.directory = folder_.path(), .seconds = 100});
  INFO(compiled.err);
  REQUIRE(compiled.code == 0);
  library_ = ::dlopen((folder_.path() / "models.so").c_str(), RTLD_NOW);
  REQUIRE(library_ != nullptr);
}

CompiledModels::~CompiledModels() {
  if (library_) ::dlclose(library_);
}

std::vector<float> CompiledModels::predict(std::size_t file, const std::vector<float>& samples,
                                           std::size_t inputs, std::size_t outputs) const {
  using Predict = void (*)(const float*, float*);
  const auto function =
      reinterpret_cast<Predict>(::dlsym(library_, ("predict" + std::to_string(file)).c_str()));
  REQUIRE(function != nullptr);
  std::vector<float> results(samples.size() / inputs * outputs);
  for (std::size_t row = 0; row < samples.size() / inputs; ++row)
    function(samples.data() + row * inputs, results.data() + row * outputs);
  return results;
}

}  // namespace trainer
