#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <string_view>

#include "engine/config/source.h"
#include "engine/system/external_program.h"
#include "models/metrics/metric.h"
#include "models/metrics/scoring_program.h"

namespace trainer {
namespace {

/// Keys that every line of metrics.jsonl has.
constexpr std::array<std::string_view, 14> kTaken{"step",
                                                  "epoch",
                                                  "split",
                                                  "loss",
                                                  "lr",
                                                  "time",
                                                  "comm_share",
                                                  "wait_share",
                                                  "slow_rank",
                                                  "data_share",
                                                  "compression_error",
                                                  "staleness",
                                                  "staleness_max",
                                                  "examples_per_second"};

bool is_name(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// The score of an external program, for predictions of evaluations alone. Its sums are empty.
class ProgramScore final : public Metric {
 public:
  explicit ProgramScore(const Config& config)
      : program_{.config = config,
                 .command = config.get<std::vector<std::string>>("command"),
                 .timeout = config.get<std::int64_t>("timeout")},
        rises_(config.get<std::string>("mode") == "max") {
    if (program_.command.empty() || program_.command.front().empty())
      config.fail("command", "`command` names no program", "command: [./score.py]");
    program_.name = config.has("name") ? config.get<std::string>("name")
                                       : std::filesystem::path(program_.command.front()).stem().string();
    if (!is_name(program_.name) || std::ranges::count(kTaken, program_.name) > 0)
      config.fail(config.has("name") ? "name" : "command", in_quotes(program_.name) + " cannot name a metric",
                  "name: bleu, or another word of letters, digits, - and _");
  }

  void setup(const Shape&, int) override {}
  std::string name() const override { return program_.name; }
  bool higher_is_better() const override { return rises_; }
  bool is_fraction() const override { return false; }
  int sums() const override { return 0; }
  void add(ConstTensor, const Targets&, std::span<double>) const override {}
  double value(std::span<const double>, double) const override {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const ScoringProgram* program() const override { return &program_; }

 private:
  ScoringProgram program_;
  bool rises_;
};

const Registry<Metric>::Add program_metric{
    {.name = "program",
     .help = "the last line that a program prints for the predictions and targets of an evaluation, two "
             "files of NumPy that follow its arguments",
     .primary = "command",
     .settings =
         {list_of("command", "the program and its arguments", text("", "a word")),
          text("name", "of the metric; by default the program's, without folder and ending").optional(),
          choice("mode", "whether a larger score is better, or a smaller one", {"max", "min"})
              .fallback("max"),
          integer("timeout", "seconds after which it is killed").at_least(1).at_most(1e6).fallback("600")}},
    [](const Config& config) { return std::make_unique<ProgramScore>(config); }};

}  // namespace

void ScoringProgram::check() const {
  if (find_program(command.front()).empty())
    config.fail("command", fmt::format("cannot start {}: no such program", in_quotes(command.front())),
                "a path with a slash, such as ./score.py, or a name in PATH, that may be executed");
}

}  // namespace trainer
