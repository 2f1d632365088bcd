#include "engine/math/engine.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/sha256.h"
#include "engine/math/gemm.h"
#include "engine/math/instruction_set.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/precision.h"

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

/// What the user asks for.
struct Choice {
  Engine engine = Engine::automatic;
  std::optional<std::vector<ProductShape>> of_openblas;  ///< sorted; set: by shape, and `engine` is native
  bool portable = false;
  Precision precision = Precision::float32;
};

Engine resolved(const Choice& choice) {
  Engine engine = choice.engine == Engine::automatic ? from_environment() : choice.engine;
  const bool takes_openblas = engine == Engine::openblas || choice.of_openblas;
  if (takes_openblas && choice.portable)
    throw Error(ExitCode::usage, "the products of OpenBLAS differ from processor to processor",
                "--engine native, or train.exact without `portable`");
  if (takes_openblas && choice.precision == Precision::bf16)
    throw Error(ExitCode::usage, "OpenBLAS has no products of bfloat16 here",
                "--engine native, or train.precision: float32");
  if (takes_openblas && !blas::serves_threads())
    throw Error(ExitCode::usage, kSerial, "install its pthread or OpenMP build, or use --engine native");
  if (engine != Engine::automatic) return engine;
  const bool native = choice.portable || choice.precision == Precision::bf16 ||
                      kernels().gemm->faster_than_blas || !blas::serves_threads();
  return native ? Engine::native : Engine::openblas;
}

struct Chosen {
  Choice choice;
  Engine engine = resolved(choice);

  void change(Choice to) {
    engine = resolved(to);
    choice = std::move(to);
  }
};

Chosen& chosen() {
  static Chosen chosen;
  return chosen;
}

std::string with_precision(const std::string& kernels) {
  return chosen().choice.precision == Precision::bf16 ? kernels + ", bf16" : kernels;
}

std::string hash_of(const std::vector<ProductShape>& shapes) {
  constexpr std::size_t kDigits = 16;
  Sha256 hash;
  for (const ProductShape& shape : shapes) hash.add(shape_text(shape) + "\n");
  return hex_of(hash.digest()).substr(0, kDigits);
}

std::string blas_text() { return std::string(blas_version()) + " " + prepare_blas(); }

}  // namespace

void choose_engine(Engine engine) {
  Choice choice = chosen().choice;
  choice.engine = engine;
  choice.of_openblas.reset();
  chosen().change(std::move(choice));
}

void choose_engine_by_shape(std::vector<ProductShape> of_openblas) {
  Choice choice = chosen().choice;
  choice.engine = Engine::native;
  std::ranges::sort(of_openblas);
  choice.of_openblas = std::move(of_openblas);
  chosen().change(std::move(choice));
}

void choose_portable(bool portable) {
  Choice choice = chosen().choice;
  if (portable == choice.portable) return;
  choice.portable = portable;
  chosen().change(std::move(choice));
  use_portable_kernels(portable);
}

void choose_precision(Precision precision) {
  Choice choice = chosen().choice;
  if (precision == choice.precision) return;
  choice.precision = precision;
  chosen().change(std::move(choice));
}

Precision precision_in_use() { return chosen().choice.precision; }

Engine engine_in_use() { return chosen().engine; }

bool engine_goes_by_shape() { return chosen().choice.of_openblas.has_value(); }

bool openblas_computes(const ProductShape& shape) {
  if (engine_in_use() == Engine::openblas) return true;
  return engine_goes_by_shape() && std::ranges::binary_search(*chosen().choice.of_openblas, shape);
}

std::string engine_text() {
  if (const auto& shapes = chosen().choice.of_openblas)
    return (shapes->empty() ? "native and openblas" : "table " + hash_of(*shapes)) + " (" + engine_kernels() +
           ")";
  if (engine_in_use() == Engine::native) return "native (" + with_precision(instruction_set()) + ")";
  return "openblas (" + blas_text() + ", " + instruction_set() + ")";
}

std::string rounding_text() {
  return chosen().choice.portable ? "native (" + with_precision("portable") + ")" : engine_text();
}

std::vector<EngineInfo> engines() {
  const Engine used = engine_in_use();
  return {{"native", instruction_set(), used == Engine::native},
          {"openblas", blas::serves_threads() ? blas_text() : kSerial, used == Engine::openblas}};
}

}  // namespace trainer
