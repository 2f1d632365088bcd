#include "cli/commands/engine_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/terminal/text.h"

namespace trainer {
namespace {

/// OpenBLAS computes a product if the native engine takes so many times as long.
constexpr double kGain = 1.02;

double microseconds(ProductTimes::Nanoseconds time) { return static_cast<double>(time.count()) * 1e-3; }

}  // namespace

void EngineTimes::on_step(const StepReport& report) {
  if (report.step == warm_up_) times_.clear();
  if (report.step > warm_up_ && times_.engine() == Engine::native) ++native_steps_;
  times_.use(report.step % 2 == 0 ? Engine::native : Engine::openblas);
}

EngineTable EngineTimes::table() const {
  EngineTable table;
  for (const auto& [shape, times] : times_.all()) {
    const double native = microseconds(times.native), openblas = microseconds(times.openblas);
    if (std::max(times.native, times.openblas) < ProductTimes::Nanoseconds::max())
      table.rows.push_back({shape, native, openblas, native > kGain * openblas});
  }
  return table;
}

std::string EngineTimes::text() const {
  std::vector<std::vector<std::string>> rows{
      {"product", "m", "n", "k", "calls", "native", "openblas", "engine"}};
  double native = 0, openblas = 0, best = 0;
  for (const EngineTable::Row& row : table().rows) {
    const ProductShape& shape = row.shape;
    const double calls =
        static_cast<double>(times_.all().at(shape).native_calls) / static_cast<double>(native_steps_);
    rows.push_back({factors_text(shape), std::to_string(shape.m), std::to_string(shape.n),
                    std::to_string(shape.k), fmt::format("{:g}", calls), fmt::format("{:.1f}", row.native_us),
                    fmt::format("{:.1f}", row.openblas_us), row.by_openblas ? "openblas" : "native"});
    native += calls * row.native_us;
    openblas += calls * row.openblas_us;
    best += calls * (row.by_openblas ? row.openblas_us : row.native_us);
  }
  rows.push_back({"step", "", "", "", "", fmt::format("{:.1f}", native), fmt::format("{:.1f}", openblas),
                  fmt::format("{:.1f}", best)});
  return trainer::table(rows, 1);
}

}  // namespace trainer
