// The plans and forecasts of the program, and their mistakes.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::vector<std::string>> csv_rows(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

}  // namespace

TEST_CASE("plan shows layers, memory, collectives and the predicted step of a run", "[planning]") {
  const SmallRun run;
  const ProgramResult result =
      run.trainer({"plan", "a.yaml", "-n", "4", "--datapar", "--link", "1Gbps,100us", "--rate", "10"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  CHECK(has(result.out,
            "plan   4 ranks (4 data x 1 model) on 4 hosts, 1 thread each\nbatch  8, at most 2 rows"));
  const std::string total = result.out.substr(result.out.find("\ntotal "));
  for (const char* figure : {" 6,370 ", " 12,704 ", " 12,864\n"})
    CHECK(has(total.substr(0, total.find('\n', 1) + 1), figure));
  CHECK(has(result.out, "\nparameters "));
  CHECK(has(result.out, "\nsamples in memory "));
  CHECK(has(result.out, "\nfits: "));
  CHECK(has(result.out, "\nreduce-scatter of"));
  CHECK(has(result.out, "\nall-gather of"));
  CHECK(has(result.out, "\npredicted step "));
  CHECK(has(result.out, "link of a host: 1 Gbit/s, 100 us, 1 us a message"));
  CHECK_FALSE(std::filesystem::exists(run.path("runs")));
}

TEST_CASE("plan --json has the schedule of a step whose predicted time is that of the plan", "[planning]") {
  const SmallRun run;
  const std::vector<std::string> words{"plan",   "a.yaml",       "-n",     "4", "--datapar",
                                       "--link", "10Gbps,100us", "--rate", "10"};
  std::vector<std::string> of_json = words;
  of_json.push_back("--json");
  const ProgramResult result = run.trainer(of_json);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const auto plan = nlohmann::json::parse(result.out);
  CHECK(plan.at("hosts") == 4);
  double bytes = 0, computing = 0;
  for (const auto& bucket : plan.at("buckets")) bytes += bucket.at("bytes_of_gradients").get<double>();
  CHECK(bytes >= 4 * 6370);
  CHECK(bytes < 4 * 6370 + 1024);  // parameters begin at cache lines
  for (const auto& layer : plan.at("layers"))
    computing += layer.at("forward").get<double>() + layer.at("backward").get<double>();
  CHECK(plan.at("predicted").at("computing").get<double>() == Approx(computing));
  const double step = 1e3 * plan.at("predicted").at("step").get<double>();
  CHECK(number_after(run.trainer(words).out, "predicted step ") == Approx(step).epsilon(0.05));
}

TEST_CASE("plan and forecast take what a megabyte takes from computing", "[planning]") {
  const SmallRun run;
  std::vector<std::string> words{
      "plan", "a.yaml", "-n", "4", "--datapar", "--link", "1Gbps,20us,1us,0us", "--rate", "10", "--json"};
  const auto free = nlohmann::json::parse(run.trainer(words).out);
  words[6] = "1Gbps,20us,1us,16ms";
  const auto plan = nlohmann::json::parse(run.trainer(words).out);
  CHECK(free.at("link").at("overhead_per_byte") == 0);
  CHECK(plan.at("link").at("overhead_per_byte").get<double>() == Approx(16e-9));
  const auto of = [](const nlohmann::json& schedule, const char* part) {
    return schedule.at("predicted").at(part).get<double>();
  };
  CHECK(of(free, "handling") == 0);
  CHECK(of(plan, "link") == Approx(2 * of(free, "link")));  // a byte takes 8 ns on the link
  CHECK(of(plan, "step") > of(free, "step"));
  words.pop_back();
  CHECK(has(run.trainer(words).out, "link of a host: 1 Gbit/s, 20 us, 1 us a message, 16000 us a megabyte"));
  std::string forecast = run.trainer({"forecast", "a.yaml", "-n", "1,4", "--datapar", "--link",
                                      "1Gbps,20us,1us,16ms", "--rate", "10"})
                             .out;
  std::ranges::replace(forecast, '\n', ' ');
  CHECK(has(forecast, "1 Gbit/s, 20 us, 1 us a message, 16000 us a megabyte; 1 rank of"));
}

TEST_CASE("hosts wait for the slowest of them as their measured steps deviate", "[planning]") {
  const SmallRun run;
  const auto predicted = [&](const char* ranks, std::vector<std::string> more) {
    std::vector<std::string> words{"plan", "a.yaml", "--datapar", "--json", "-n", ranks};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(run.trainer(words).out).at("predicted");
  };
  CHECK(predicted("4", {"--link", "10Gbps,20us"}).at("slowest").get<double>() > 0);
  CHECK(predicted("2", {}).at("slowest") == 0);  // ranks of one host are measured together
  CHECK(predicted("4", {"--link", "10Gbps,20us", "--rate", "10"}).at("slowest") == 0);
}

TEST_CASE("plan measures the step of a run here and saves nothing", "[planning]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"plan", "a.yaml"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  CHECK(has(result.out, "computing is measured here: 8 rows on 1 thread of one process, median of "));
  CHECK(has(result.out, "collectives of a step: none\n"));
  std::string words;
  std::istringstream all(result.out);
  for (std::string word; all >> word;) words += word + " ";
  CHECK(number_after(words, " %, standard deviation of a step ") >= 0);
  CHECK_FALSE(std::filesystem::exists(run.path("runs")));
}

TEST_CASE("a plan of a host shares memory; one of model ranks shows shards", "[planning]") {
  const SmallRun run;
  const ProgramResult data = run.trainer({"plan", "a.yaml", "-n", "4", "-p", "--rate", "1"});
  CHECK(has(data.out, "4 ranks"));
  CHECK(has(data.out, "sum of the workers' gradients"));
  CHECK(has(data.out, "host memory"));
  const ProgramResult model = run.trainer({"plan", "a.yaml", "-n", "2", "--modelpar", "--rate", "1"});
  INFO(model.out << model.err);
  CHECK(model.code == 0);
  CHECK(has(model.out, "784x[0, 4)"));
  CHECK(has(model.out, " of activations, "));
  CHECK(has(model.out, "2 ranks of a host"));
}

namespace {

const std::string kTwoKinds =
    R"(data: {dataset: {synthetic: {shape: [3, 16, 16], classes: 10, train: 64, test: 16}}}
model:
  layers:
    - conv: {filters: 16, kernel: 3, activation: relu}
    - batch_norm
    - dense: {units: 300, activation: relu}
    - recompute: [dense: {units: 300, activation: relu}, dense: 300]
    - dense: 10
  loss: softmax_cross_entropy
train: {steps: 3, batch: 32, checkpoint: never, optimizer: {adam: {lr: 0.001}}}
)";

/// MiB of a rank by kind; `ranks`: of a host.
std::map<std::string, double> planned_kinds(const std::string& plan, int ranks) {
  std::map<std::string, double> kinds;
  std::istringstream lines(plan.substr(plan.find("\nmemory ") + 1));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.starts_with("total ")) {
    std::istringstream size(line.substr(line.rfind(' ', line.rfind(' ') - 1)));
    double value = 0;
    std::string unit;
    size >> value >> unit;
    kinds[line.substr(0, line.find("  "))] += value *
                                              (unit == "MiB"   ? 1
                                               : unit == "KiB" ? 1.0 / 1024
                                                               : 1.0 / 1024 / 1024) /
                                              ranks;
  }
  return kinds;
}

}  // namespace

TEST_CASE("a plan has the memory by kind that the allocations of a run count, in each mode", "[planning]") {
  const SmallRun run;
  write_text(run.path("w.yaml"), kTwoKinds);
  struct Mode {
    int ranks, ranks_of_host;
    std::vector<std::string> flags;
    std::string setting = "train.seed=1";
  };
  const Mode mode = GENERATE(
      Mode{1, 1, {}}, Mode{1, 1, {"--threads", "2"}}, Mode{2, 2, {"--datapar"}}, Mode{2, 2, {"--modelpar"}},
      Mode{2, 2, {"--modelpar", "--threads", "2"}}, Mode{4, 4, {"--mesh", "2x2"}},
      Mode{2, 1, {"--datapar", "--ranks-per-node", "1"}}, Mode{3, 1, {"--datapar", "--shard", "gradients"}},
      Mode{3, 1, {"--datapar", "--shard", "parameters"}}, Mode{1, 1, {}, "train.exact=true"},
      Mode{2, 1, {"--datapar", "--shard", "parameters"}, "train.exact=true"},
      Mode{1, 1, {}, "train.activations=bf16"}, Mode{2, 2, {"--datapar"}, "train.precision=bf16"},
      Mode{2, 1, {"--datapar", "--ranks-per-node", "1"}, "train.compression=bf16"},
      Mode{2, 2, {"--datapar"}, "train.compression={powersgd: {rank: 4, min_size: 0}}"},
      Mode{2, 2, {"--datapar"}, "train.checkpoint=epoch"},
      Mode{2, 2, {"--modelpar"}, "train.checkpoint=epoch"}, Mode{1, 1, {}, "train.accumulate=2"},
      Mode{2, 2, {"--datapar"}, "train.ema=0.9"},
      Mode{1, 1, {"--threads", "2"}, "train.optimizer={muon: {lr: 0.01}}"});
  std::vector<std::string> words{"w.yaml", "-s", mode.setting};
  words.insert(words.end(), mode.flags.begin(), mode.flags.end());
  if (std::ranges::count(words, "--threads") == 0) words.insert(words.end(), {"--threads", "1"});
  std::vector<std::string> plan_words = words;
  plan_words.insert(plan_words.begin(), "plan");
  plan_words.insert(plan_words.end(), {"-n", std::to_string(mode.ranks), "--rate", "10"});
  const ProgramResult plan = run.trainer(plan_words);
  words.insert(words.end(), {"--progress", "json"});
  const ProgramResult result = run.trainer(words, mode.ranks);
  INFO(fmt::format("{}", fmt::join(words, " ")) << "\n" << plan.out << plan.err << result.out << result.err);
  REQUIRE(plan.code == 0);
  REQUIRE(result.code == 0);
  const std::string counted = result.out.substr(result.out.find("\"memory_of_rank\""));
  auto planned = planned_kinds(plan.out, mode.ranks_of_host);
  CHECK(planned.erase("program") == 1);
  planned.erase("samples in memory");  // ranks of this host share them, those of other hosts would not
  for (const char* kind : {"parameters", "gradients", "optimizer state", "activations and scratch"})
    CHECK(planned.contains(kind));
  const bool is_paged = std::ranges::count(words, "--shard") > 0;
  for (const auto& [kind, mib] : planned) {
    INFO(kind);
    const double bytes = number_after(counted, "\"" + kind + "\":");
    // Fast messages leave less of two buckets in memory at a time.
    const bool is_bound = is_paged && (kind == "gradients" || kind == "messages");
    // Slow ones keep their buffers while the next ones take new memory.
    const bool may_wait = kind == "messages" && mode.setting == "train.compression=bf16";
    constexpr double kPages = 4 * 4096;
    CHECK(bytes <= (may_wait ? 1.5 : 1.1) * mib * (1 << 20) + kPages);
    CHECK(bytes >= (is_bound ? 0.4 : 0.9) * mib * (1 << 20) - kPages);
  }
}

TEST_CASE("a plan that exceeds the memory of a host shows what helps", "[planning]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"plan", "a.yaml", "--rate", "1", "--memory", "1MiB"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(has(result.out, "\ndoes not fit: "));
  CHECK(has(result.out, "most of it: "));
}

TEST_CASE("a forecast has a row for each number of ranks, and the first is as efficient as itself",
          "[planning]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"forecast", "a.yaml", "-n", "1,2,4,...,16", "--weak", "--link",
                                            "10Gbps,20us", "--rate", "5", "--csv", "--svg", "chart.svg"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const auto rows = csv_rows(result.out);
  REQUIRE(rows.size() == 6);
  CHECK(rows[1][0] == "weak");
  CHECK(std::stod(rows[1][12]) == Approx(1));
  for (std::size_t i = 2; i < rows.size(); ++i) {
    CHECK(std::stoi(rows[i][1]) == 1 << (i - 1));
    CHECK(std::stoi(rows[i][5]) == 8 << (i - 1));
    CHECK(std::stod(rows[i][12]) < 1);
    CHECK(std::stod(rows[i][13]) <= std::stod(rows[i][12]));
  }
  CHECK(has(read_text(run.path("chart.svg")), "</svg>"));
}

TEST_CASE("a forecast lies within its own bounds", "[planning]") {
  // 32 ranks: a link that is 10 % slower or faster has another order of messages, and both take longer.
  const ProgramResult result =
      SmallRun().trainer({"forecast", setting_of_tests("TRAINER_CONFIGS") + "/mnist-small.yaml", "-n",
                          "1,2,4,...,64", "--rate", "50", "--csv"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const auto rows = csv_rows(result.out);
  for (std::size_t i = 1; i < rows.size(); ++i)
    for (const std::size_t value : {6, 9, 12}) {
      CHECK(std::stod(rows[i][value]) >= std::stod(rows[i][value + 1]));
      CHECK(std::stod(rows[i][value]) <= std::stod(rows[i][value + 2]));
    }
}

TEST_CASE("a command for one process refuses several, by its own name", "[planning]") {
  const SmallRun run;
  for (const std::string command : {"plan", "forecast"}) {
    const ProgramResult result = run.shell("$MPIRUN -n 2 $TRAINER " + command + " a.yaml -n 2 --datapar");
    INFO(result.err);
    CHECK(result.code == 4);
    CHECK(has(result.err, command + " is for one process"));
  }
}

TEST_CASE("a forecast of strong scaling explains which numbers of ranks the batch forbids", "[planning]") {
  const SmallRun run;
  const ProgramResult result =
      run.trainer({"forecast", "a.yaml", "-n", "4,8,16", "--datapar", "--rate", "5"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(has(result.out, "strong scaling"));
  CHECK(has(result.out, "\n16 ranks: "));
  CHECK(has(result.out, "This is a forecast, not a measurement."));
}

TEST_CASE("a command prints its table where its file cannot be written", "[planning]") {
  const SmallRun run;
  const std::vector<std::string> words =
      GENERATE(std::vector<std::string>{"forecast", "a.yaml", "-n", "1,2", "--rate", "5", "--svg"},
               std::vector<std::string>{"time", "a.yaml", "--steps", "2", "--trace"},
               std::vector<std::string>{"time", "a.yaml", "--steps", "2", "--engines"},
               std::vector<std::string>{"lr-find", "a.yaml", "--svg"});
  std::vector<std::string> all = words;
  all.push_back("/absent/folder/file");
  const ProgramResult result = run.trainer(all);
  INFO(words.front() << ' ' << words.back() << '\n' << result.out << result.err);
  CHECK(result.code == 1);
  CHECK(occurrences(result.out, "\n") > 4);
  CHECK(has(result.err, "/absent/folder/file"));
}

TEST_CASE("plan measures steps whatever ends a run", "[planning]") {
  const SmallRun run;
  const ProgramResult result = run.trainer(
      {"plan", "a.yaml", "-s", "data={dataset: digits, fraction: 0.02}", "-s", "train.stop={time: 0.001s}"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
}

TEST_CASE("plan and forecast refuse rounds of local SGD, which they cannot describe", "[planning]") {
  const SmallRun run;
  const std::string command = GENERATE(as<std::string>{}, "plan", "forecast");
  const std::vector<std::string> words{command, "a.yaml", "-n",
                                       "1",     "-s",     "train.local={steps: 2, virtual_workers: 2}"};
  const ProgramResult result = run.trainer(words);
  CHECK(result.code == 2);
  CHECK(has(result.err, "error: plan and forecast describe steps that all ranks take together"));
}

TEST_CASE("--mesh auto takes the mesh with the least predicted step, which depends on the batch",
          "[planning]") {
  const SmallRun run;
  // A shard sends activations in place of gradients: less, unless the batch is large.
  const std::string narrow = "data={dataset: {synthetic: {shape: [4], classes: 10, train: 400, test: 40}}}";
  for (const auto& [data, batch, mesh] :
       {std::tuple{"data.path=set", "8", "1x2"}, {narrow.c_str(), "400", "2x1"}}) {
    const std::vector<std::string> words{"a.yaml",
                                         "--mesh",
                                         "auto",
                                         "--ranks-per-node",
                                         "1",
                                         "--link",
                                         "1Mbps,20us",
                                         "--name",
                                         mesh,
                                         "-s",
                                         data,
                                         "-s",
                                         std::string("train.batch=") + batch};
    const ProgramResult result = run.trainer(words, 2);
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    CHECK(has(result.err, std::string("note: --mesh ") + mesh + " is taken; predicted for a step: "));
    CHECK(has(result.out, mesh == std::string("1x2") ? "1 data x 2 model" : "2 data x 1 model"));
  }
  const ProgramResult local =
      run.trainer({"a.yaml", "--mesh", "auto", "-s", "train.local={steps: 2, virtual_workers: 2}"}, 2);
  INFO(local.err);
  CHECK(local.code == 0);
}

TEST_CASE("mistakes of plan and forecast name the flag and what would be right", "[planning]") {
  const SmallRun run;
  struct Mistake {
    std::vector<std::string> words;
    int code;
    std::string message;
  };
  const std::vector<Mistake> mistakes{
      {{"plan", "a.yaml", "--link", "10"},
       2,
       "--link expects BANDWIDTH,LATENCY[,OVERHEAD[,PER_MEGABYTE]], got `10`"},
      {{"plan", "a.yaml", "-n", "0"}, 2, "--ranks expects a number from 1 to 65536, got `0`"},
      {{"plan", "a.yaml", "-n", "2,4"}, 2, "--ranks expects a number"},
      {{"plan", "a.yaml", "-n", "4"}, 4, "4 ranks need --datapar, --modelpar or --mesh"},
      {{"plan", "a.yaml", "-n", "4", "--mesh", "3x2"}, 4, "4 ranks do not make a 3x2 mesh"},
      {{"plan", "a.yaml", "-n", "4", "--mesh", "x"}, 2, "--mesh expects DxM, got `x`"},
      {{"plan", "a.yaml", "-n", "6", "-p", "--ranks-per-node", "4"}, 4, "6 ranks do not fill hosts of 4"},
      {{"plan", "a.yaml", "-n", "64", "-p"}, 4, "batch"},
      {{"plan", "a.yaml", "--memory", "16"}, 2, "--memory expects a size with its unit, got `16`"},
      {{"plan", "a.yaml", "--rate", "-1"}, 2, "--rate"},
      {{"plan", "b.yaml"}, 2, "b.yaml"},
      {{"forecast", "a.yaml"}, 2, "--ranks is required"},
      {{"forecast", "a.yaml", "-n", "2,1"}, 2, "--ranks expects ascending numbers, got `2,1`"},
      {{"forecast", "a.yaml", "-n", "1,2,...", "--rate", "1"}, 2, "--ranks expects ascending numbers"},
      {{"forecast", "a.yaml", "-n", "1", "--mesh", "1x1"}, 2, "unknown flag `--mesh`"},
      {{"forecast", "b.yaml", "-n", "1,2"}, 2, "b.yaml"},
      {{"forecast", "a.yaml", "-n", "1", "--rate", "1", "--svg", "no/where.svg"},
       1,
       "cannot write no/where.svg"}};
  for (const Mistake& mistake : mistakes) {
    const ProgramResult result = run.trainer(mistake.words);
    INFO(mistake.message << "\n" << result.out << result.err);
    CHECK(result.code == mistake.code);
    CHECK(has(result.err, mistake.message));
    CHECK(occurrences(result.err, "error: ") == 1);
  }
}

}  // namespace trainer
