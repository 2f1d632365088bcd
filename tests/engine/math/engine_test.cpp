#include "engine/math/engine.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "engine/core/error.h"
#include "engine/math/gemm.h"
#include "engine/math/instruction_set.h"

namespace trainer {
namespace {

/// Another engine until the end of a test.
class Chosen {
 public:
  explicit Chosen(Engine engine) { choose_engine(engine); }
  ~Chosen() { choose_engine(before_); }
  Chosen(const Chosen&) = delete;
  Chosen& operator=(const Chosen&) = delete;

 private:
  Engine before_ = engine_in_use();
};

}  // namespace

TEST_CASE("the native engine serves on every processor", "[engine]") {
  const Chosen native(Engine::native);
  CHECK(engine_in_use() == Engine::native);
  CHECK(gemm_is_chained());
  CHECK(engine_text() == std::string("native (") + instruction_set() + ")");
}

TEST_CASE("the openblas engine serves beside all vector kernels", "[engine]") {
  if (!blas::serves_threads()) {
    CHECK_THROWS_AS(choose_engine(Engine::openblas), Error);
    return;
  }
  const Chosen openblas(Engine::openblas);
  CHECK(engine_in_use() == Engine::openblas);
  CHECK_FALSE(gemm_is_chained());
  CHECK(engine_text() ==
        std::string("openblas (") + blas_version() + " " + prepare_blas() + ", " + instruction_set() + ")");
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[4];
  gemm(Transpose::no, Transpose::no, 2, 2, 2, a, 2, b, 2, 0, c, 2);
  CHECK(std::ranges::equal(c, std::initializer_list<float>{19, 22, 43, 50}));
}

TEST_CASE("engines() has both engines, of which one is in use", "[engine]") {
  const std::vector<EngineInfo> all = engines();
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "native");
  CHECK(all[1].name == "openblas");
  CHECK(all[0].in_use != all[1].in_use);
  CHECK(all[0].kernels == instruction_set());
}

}  // namespace trainer
