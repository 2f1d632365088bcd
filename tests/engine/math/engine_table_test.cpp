#include "engine/math/engine_table.h"

#include <string>

#include "engine/core/error.h"
#include "engine/math/engine.h"
#include "engine/math/gemm.h"
#include "engine/math/product_times.h"
#include "tests/engine/math/values.h"

namespace trainer {
namespace {

constexpr ProductShape kShape{Transpose::yes, Transpose::no, 37, 21, 64};

/// The automatic choice at the end of a test.
struct Restored {
  ~Restored() { choose_engine(Engine::automatic); }
};

std::string mistake_of(const std::string& text) {
  try {
    parse_engine_table(text, "t.csv");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.diagnostics().front().place + ": " + error.diagnostics().front().what;
  }
  return "";
}

std::vector<float> elements(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 31) / 17 - 1;
  return values;
}

/// A^T B of kShape's first k terms.
std::vector<float> product(std::int64_t k) {
  const std::vector<float> a = elements(k * kShape.m), b = elements(k * kShape.n);
  std::vector<float> c(static_cast<std::size_t>(kShape.m * kShape.n));
  gemm(Transpose::yes, Transpose::no, kShape.m, kShape.n, k, a.data(), kShape.m, b.data(), kShape.n, 0,
       c.data(), kShape.n);
  return c;
}

}  // namespace

TEST_CASE("a table of engines reads what it wrote", "[engine]") {
  const EngineTable table{{{{}, 1.25, 2, false}, {kShape, 3, 2.5, true}}};
  const std::string text = table.text("Some CPU");
  CHECK(text.starts_with("# processor: Some CPU\n# kernels: " + engine_kernels() + "\n"));
  CHECK(text.ends_with("A B,0,0,0,1.2,2.0,native\nA^T B,37,21,64,3.0,2.5,openblas\n"));
  const EngineTable read = parse_engine_table(text, "t.csv");
  REQUIRE(read.rows.size() == 2);
  CHECK(read.of_openblas() == std::vector{kShape});
}

TEST_CASE("a damaged table of engines, or one of other kernels, is an error at its line", "[engine]") {
  const std::string head = EngineTable{}.text("Some CPU"), row = "A B,1,2,3,4.0,5.0,native\n";
  CHECK(mistake_of(head + row).empty());
  CHECK(mistake_of("# kernels: AVX-1024, OpenBLAS 9 Zen9\n")
            .starts_with("t.csv:1: the engine table was measured with AVX-1024"));
  CHECK(mistake_of("").starts_with("t.csv:0: the engine table has no lines"));
  CHECK(mistake_of(head + row + row) == "t.csv:5: the engine table has this shape twice");
  for (const char* line : {"A B,1,2,3,4.0,5.0\n", "A B,1,2,3,4.0,5.0,mkl\n", "A C,1,2,3,4.0,5.0,native\n",
                           "A B,1,-2,3,4.0,5.0,native\n", "A B,1,2,3,4.0,5.0,native,\n",
                           "A B,1,2,3,x,5.0,native\n", "A B,99999999999999999999,2,3,4.0,5.0,native\n", "\n"})
    CHECK(mistake_of(head + row + line) == "t.csv:5: this is no line of an engine table");
  CHECK(mistake_of(row) == "t.csv:1: this is no line of an engine table");
}

TEST_CASE("by shape, OpenBLAS computes the shapes of the table and the native engine all others",
          "[engine]") {
  if (!blas::serves_threads()) return;
  const Restored restored;
  choose_engine(Engine::native);
  const std::vector<float> native = product(kShape.k), native_half = product(kShape.k / 2);
  choose_engine(Engine::openblas);
  const std::vector<float> openblas = product(kShape.k);
  choose_engine_by_shape({kShape});
  CHECK(engine_in_use() == Engine::native);
  CHECK_FALSE(gemm_is_chained());
  CHECK(openblas_computes(kShape));
  CHECK(same_bits(product(kShape.k), openblas));
  CHECK(same_bits(product(kShape.k / 2), native_half));
  const std::string text = rounding_text();
  CHECK(text.starts_with("table "));
  CHECK(text.ends_with(" (" + engine_kernels() + ")"));
  choose_engine_by_shape({});
  CHECK(rounding_text() != text);
  CHECK(same_bits(product(kShape.k), native));
  CHECK_THROWS_AS(choose_portable(true), Error);
  choose_engine(Engine::native);
  CHECK(gemm_is_chained());
}

TEST_CASE("times of products have the shortest call of each engine by shape", "[engine]") {
  if (!blas::serves_threads()) return;
  const Restored restored;
  ProductTimes times;
  CHECK_FALSE(gemm_is_chained());
  product(kShape.k);
  product(kShape.k);
  CHECK(times.all().at(kShape).openblas == ProductTimes::Nanoseconds::max());
  times.use(Engine::openblas);
  product(kShape.k);
  REQUIRE(times.all().size() == 1);
  CHECK(times.all().at(kShape).native_calls == 2);
  CHECK(times.all().at(kShape).native.count() > 0);
  CHECK(times.all().at(kShape).openblas < ProductTimes::Nanoseconds::max());
  times.clear();
  CHECK(times.all().empty());
}

}  // namespace trainer
