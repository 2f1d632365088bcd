#include "engine/math/engine.h"

#include <cstdlib>
#include <string_view>

#include "engine/core/error.h"
#include "engine/math/gemm.h"
#include "engine/math/instruction_set.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

constexpr const char* kSerial = "OpenBLAS is its serial build here, which threads cannot share";

Engine from_environment() {
  const char* setting = std::getenv("TRAINER_ENGINE");
  const std::string_view name = setting ? setting : "";
  if (name.empty() || name == "auto") return Engine::automatic;
  if (name == "native") return Engine::native;
  if (name == "openblas") return Engine::openblas;
  throw Error(ExitCode::usage, "TRAINER_ENGINE=" + std::string(name) + " is unknown",
              "one of auto, native, openblas");
}

Engine resolved(Engine engine) {
  if (engine == Engine::automatic) engine = from_environment();
  if (engine == Engine::openblas && !blas::serves_threads())
    throw Error(ExitCode::usage, kSerial, "install its pthread or OpenMP build, or use --engine native");
  if (engine != Engine::automatic) return engine;
  return kernels().gemm->faster_than_blas || !blas::serves_threads() ? Engine::native : Engine::openblas;
}

Engine& chosen() {
  static Engine engine = resolved(Engine::automatic);
  return engine;
}

std::string blas_text() { return std::string(blas_version()) + " " + prepare_blas(); }

}  // namespace

void choose_engine(Engine engine) { chosen() = resolved(engine); }

Engine engine_in_use() { return chosen(); }

std::string engine_text() {
  if (engine_in_use() == Engine::native) return std::string("native (") + instruction_set() + ")";
  return "openblas (" + blas_text() + ", " + instruction_set() + ")";
}

std::vector<EngineInfo> engines() {
  const Engine used = engine_in_use();
  return {{"native", instruction_set(), used == Engine::native},
          {"openblas", blas::serves_threads() ? blas_text() : kSerial, used == Engine::openblas}};
}

}  // namespace trainer
