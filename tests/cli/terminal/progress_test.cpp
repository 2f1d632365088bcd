#include "cli/terminal/progress.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <thread>

#include "cli/terminal/epoch_table.h"
#include "cli/terminal/output.h"
#include "cli/terminal/run_pace.h"
#include "cli/terminal/text.h"
#include "tests/cli/terminal/standard_output.h"

namespace trainer {
namespace {

const MetricFacts kAccuracy{.name = "accuracy", .short_name = "acc"};
const RunFacts kFacts{.steps_per_epoch = 469,
                      .total_steps = 2345,
                      .batch = 128,
                      .epochs = 5,
                      .metrics = {kAccuracy},
                      .evaluation_split = "test"};

/// Where columns end: the place behind each run of characters other than blanks.
std::vector<std::size_t> ends_of_cells(const std::string& line) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] != ' ' && (i + 1 == line.size() || line[i + 1] == ' ')) ends.push_back(i);
  return ends;
}

}  // namespace

TEST_CASE("rows stand under their headings, from the smallest to very large numbers", "[cli]") {
  const EpochTable table(kFacts);
  const double loss = GENERATE(1e-9, 0.4127, 99.99, 123456.0, 3.1e30);
  const EpochReport report{.epoch = 3,
                           .train = Scores{.loss = loss, .metrics = {1.0}},
                           .evaluation = Scores{.loss = loss, .metrics = {0.9559}},
                           .examples_per_second = 123'456'789,
                           .epoch_time = 7384};
  const std::string heading = " epoch      loss     acc  test loss  test acc  examples/s  data    time";
  CHECK(table.heading() == heading);
  const auto row = ends_of_cells(table.row(report));
  REQUIRE(row.size() == 8);
  CHECK(row[0] == heading.find("epoch") + 4);
  CHECK(row[1] == heading.find("loss") + 3);
  CHECK(row[2] == heading.find("acc") + 2);
  CHECK(row[3] == heading.find("test loss") + 8);
  CHECK(row[7] >= heading.size() - 1);
}

TEST_CASE("several ranks have columns for communication and waiting, within 80 columns", "[cli]") {
  RunFacts facts = kFacts;
  facts.ranks = 4;
  const EpochTable table(facts);
  CHECK(table.heading() == " epoch     loss    acc test loss test acc examples/s comm wait data   time");
  EpochReport report{.epoch = 1,
                     .train = Scores{.loss = 0.5, .metrics = {0.5}},
                     .evaluation = Scores{.loss = 0.5, .metrics = {0.5}},
                     .examples_per_second = 31'900,
                     .comm_share = 0.04,
                     .wait_share = 0.12,
                     .best = true};
  CHECK_THAT(table.row(report), Catch::Contains("31,900   4%  12%   0%"));
  CHECK(table.row(report).size() < 80);
  report.slow_rank = 2;
  CHECK_THAT(table.row(report), Catch::Contains(" * rank 2 is slow"));
  CHECK(slow_rank_text(facts, -1).empty());
  facts.model_ranks = 2;
  CHECK(slow_rank_text(facts, 2) == "ranks 2-3 are slow");
}

TEST_CASE("metrics of training samples give way where a table is wider than 80 columns", "[cli]") {
  RunFacts facts = kFacts;
  facts.metrics.push_back({"perplexity", "ppl", false});
  facts.ranks = 1;
  CHECK(EpochTable(facts).heading() ==
        " epoch     loss    acc test loss test acc test ppl examples/s data   time");
  facts.ranks = 4;
  const EpochTable table(facts);
  CHECK(table.heading() == " epoch     loss test loss test acc test ppl examples/s comm wait data   time");
  const EpochReport report{.epoch = 1,
                           .train = Scores{.loss = 0.5, .metrics = {0.5, 1.5}},
                           .evaluation = Scores{.loss = 0.7, .metrics = {0.6, 1.7}}};
  CHECK_THAT(table.row(report), Catch::Contains("0.5000    0.7000    60.0%   1.7000 "));
}

TEST_CASE("an epoch without an evaluation leaves its cells empty, and the best has a star", "[cli]") {
  const EpochTable table(kFacts);
  EpochReport report{.epoch = 1, .train = Scores{.loss = 0.5, .metrics = {0.5}}};
  CHECK(ends_of_cells(table.row(report)).size() == 6);
  report.evaluation = Scores{.loss = 0.5, .metrics = {0.5}};
  report.best = true;
  CHECK(table.row(report).back() == '*');
}

TEST_CASE("a bar fits the terminal, whatever its width", "[cli]") {
  const int columns = GENERATE(1, 10, 40, 72, 80, 200);
  const StepReport report{.step = 938 + 298, .epoch = 3, .examples_per_second = 32'100};
  const std::string line =
      bar_line(kFacts, report, {.loss = 0.0874, .metrics = {0.973}}, 1, {.columns = columns, .moves = true});
  CHECK(columns_of(line) < static_cast<std::size_t>(std::max(columns, 2)));
  CHECK(bar_line(kFacts, report, {.loss = 0.0874, .metrics = {0.973}}, 3723, {}) ==
        "   3/5   298/469  loss 0.0874  acc 97.3%  32,100/s  1:02:03 left");
  if (columns >= 80)
    CHECK(line.find("298/469  loss 0.0874  acc 97.3%  32,100/s  0:01 left") != std::string::npos);
}

TEST_CASE("a bar is as full as its epoch is done, and grows with the terminal up to 60 cells", "[cli]") {
  const auto cells = [](std::int64_t step, const std::string& cell, int columns) {
    const StepReport report{.step = step, .epoch = 1};
    const std::string line =
        bar_line(kFacts, report, {.metrics = {0.0}}, 0, {.columns = columns, .moves = true});
    std::size_t count = 0;
    for (std::size_t at = line.find(cell); at != std::string::npos; at = line.find(cell, at + 1)) ++count;
    return count;
  };
  CHECK(cells(1, "━", 160) == 0);
  CHECK(cells(1, "─", 160) == 59);
  CHECK(cells(469, "━", 160) == 60);
  CHECK(cells(469, "─", 160) == 0);
  CHECK(cells(469, "━", 90) == cells(469, "━", 80) + 10);
}

TEST_CASE("without a terminal, lines within an epoch show that it goes ahead", "[cli]") {
  using std::chrono::milliseconds;
  const auto lines = [](milliseconds pause) {
    const auto progress = make_progress(ProgressMode::plain, {}, "run", true, pause);
    return output_of([&] {
      progress->on_start({.steps_per_epoch = 3, .total_steps = 3, .epochs = 1});
      for (std::int64_t step = 1; step <= 3; ++step)
        progress->on_step({.step = step, .scores = {.samples = 8, .loss = static_cast<double>(step)}});
      progress->on_epoch({.train = {.loss = 2}});
    });
  };
  const std::string shown = lines(milliseconds(0));
  CHECK_THAT(shown, Catch::Contains("   1/1   1/3  loss 1.0000  0/s  0:0") &&
                        Catch::Contains("   1/1   2/3  loss 1.5000  0/s  0:0"));
  CHECK_THAT(shown, !Catch::Contains("3/3"));
  CHECK_THAT(lines(milliseconds(60'000)), !Catch::Contains("/3"));
}

TEST_CASE("a run that rolled back continues below its rows, without another heading", "[cli]") {
  const auto shown = [](bool has_heading) {
    const auto progress = make_progress(ProgressMode::plain, {}, "run", has_heading);
    return output_of([&] {
      progress->on_start({.steps_per_epoch = 1, .total_steps = 2, .epochs = 2});
      progress->on_epoch({.epoch = 2});
    });
  };
  CHECK_THAT(shown(true), Catch::StartsWith("\n epoch      loss") && Catch::Contains("\n   2/2"));
  CHECK_THAT(shown(false), Catch::StartsWith("   2/2"));
}

TEST_CASE("quiet JSON is the last of all JSON lines", "[cli]") {
  const auto shown = [](Observer& progress) {
    return output_of([&] {
      progress.on_start({.steps_per_epoch = 1, .total_steps = 1, .epochs = 1});
      progress.on_step({.step = 1, .scores = {.samples = 8}, .logged = true});
      progress.on_end({.steps = 1});
    });
  };
  const std::string all = shown(*make_progress(ProgressMode::json, {}, "run"));
  const std::string last = shown(*make_quiet_progress(ProgressMode::json, "run"));
  CHECK_THAT(last, Catch::StartsWith(R"({"event":"end","run":"run","steps":1,)"));
  CHECK_THAT(all, Catch::StartsWith(R"({"event":"start")") && Catch::EndsWith("\n" + last));
  CHECK(shown(*make_quiet_progress(ProgressMode::plain, "run")).empty());
}

TEST_CASE("the cursor waits before the bar, where the echo of Ctrl-C wraps no line", "[cli]") {
  const std::string shown = output_of([] {
    const auto progress = make_progress(ProgressMode::bar, {.columns = 80, .moves = true}, "run");
    progress->on_start({.steps_per_epoch = 1, .total_steps = 1, .epochs = 1});
    std::this_thread::sleep_for(std::chrono::milliseconds(101));
    progress->on_step({.step = 1, .scores = {.samples = 8}});
    std::fputs("^C", stdout);
  });
  CHECK_THAT(shown, Catch::EndsWith("left\r^C\r\x1b[J"));
}

TEST_CASE("what is written after a bar takes its place", "[cli]") {
  CHECK(output_of([] {
          print_status("bar");
          print_status("bars");
          print_result("row\n");
          print_status("bar");
          print_message("");
          print_result("row\n");
        }) == "bar\r\r\x1b[Jbars\r\r\x1b[Jrow\nbar\r\r\x1b[Jrow\n");
}

TEST_CASE("a terminal without UTF-8 gets a bar of ASCII", "[cli]") {
  const StepReport report{.step = 200, .epoch = 1};
  for (const bool colour : {false, true}) {
    const std::string line = bar_line(kFacts, report, {.metrics = {0.0}}, 0,
                                      {.columns = 120, .colour = colour, .moves = true, .utf8 = false});
    CHECK(columns_of(line) == line.size());
    CHECK_THAT(line, Catch::Contains("==========>") && Catch::Contains("-------------"));
  }
}

TEST_CASE("the time left is that of the run, with its evaluations", "[cli]") {
  using std::chrono::seconds;
  const RunPace::Clock::time_point start{};
  RunPace pace;
  pace.start({.steps_per_epoch = 10, .total_steps = 30}, start);
  pace.note_step(5, start + seconds(10));
  CHECK(pace.seconds_left() == Approx(50));
  pace.note_step(10, start + seconds(20));
  pace.note_epoch(start + seconds(27));
  pace.note_step(20, start + seconds(47));
  CHECK(pace.seconds_left() == Approx(20 + 7));
  // A resumed run counts its own steps only.
  pace.start({.steps_per_epoch = 10, .total_steps = 30, .first_step = 25}, start);
  CHECK(pace.seconds_left() == 0);
  pace.note_step(26, start + seconds(3));
  CHECK(pace.seconds_left() == Approx(12));
}

TEST_CASE("the locale decides about UTF-8", "[cli]") {
  const auto with = [](const char* all, const char* language) {
    ::setenv("LC_ALL", all, 1);
    ::setenv("LANG", language, 1);
    return shows_utf8();
  };
  const char* const before = std::getenv("LC_ALL");
  const std::string all = before ? before : "", language = std::getenv("LANG") ? std::getenv("LANG") : "";
  ::unsetenv("LC_CTYPE");
  CHECK(with("", "en_GB.UTF-8"));
  CHECK(with("C.utf8", "C"));
  CHECK_FALSE(with("C", "en_GB.UTF-8"));
  CHECK_FALSE(with("", "POSIX"));
  with(all.c_str(), language.c_str());
}

TEST_CASE("the result names the best epoch, or reports a run without evaluation", "[cli]") {
  RunFacts facts = kFacts;
  RunResult result{.steps = 2345, .time = 10, .comm_share = 0.04, .wait_share = 0.02};
  CHECK(result_line(kFacts, result).find("done  2,345 steps") == 0);
  result.best = Scores{.samples = 10'000, .loss = 0.05, .metrics = {0.98634}};
  CHECK(result_line(kFacts, result).find("done  2,345 steps: test accuracy 98.63%") == 0);
  result.best_epoch = 5;
  CHECK(result_line(kFacts, result).find("best  epoch 5: test accuracy 98.63%") == 0);
  CHECK(result_line(kFacts, result).find("data") == std::string::npos);
  result.data_share = 0.07;
  CHECK(result_line(kFacts, result).find("total 10s, 7% waiting for data") != std::string::npos);
  facts.ranks = 2;
  CHECK(result_line(facts, result)
            .find("total 10s, 4% of it communication, 2% waiting for other ranks, 7% waiting for data") !=
        std::string::npos);
  CHECK(result_line(kFacts, result).find("memory") == std::string::npos);
  result.memory = 52 << 20;
  CHECK(result_line(kFacts, result).find("waiting for data, 52.0 MiB of memory") != std::string::npos);
}

TEST_CASE("numbers are legible at every size", "[cli]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-1234567) == "-1,234,567");
  CHECK(grouped(-123) == "-123");
  CHECK(bytes_text(512) == "0.5 KiB");
  CHECK(bytes_text(1'099'032) == "1.0 MiB");
  CHECK(seconds_text(0.414) == "0.41s");
  CHECK(seconds_text(59.4) == "59s");
  CHECK(seconds_text(185) == "3:05");
  CHECK(seconds_text(7205) == "2:00:05");
  CHECK(loss_text(0.41271) == "0.4127");
  CHECK(loss_text(0.00002345) == "2.35e-05");
  CHECK(loss_text(312.34) == "312.3");
  CHECK(loss_text(32486.4) == "32,486");
  CHECK(loss_text(3.14e7) == "3.14e+07");
  CHECK(loss_text(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(wrapped("a, b", 0, 3, 80) == "a, b");
  const std::string half(38, 'x');
  CHECK(wrapped(half + ", " + half + ", y", 1, 3, 80) == half + ", " + half + ",\n   y");
  CHECK(wrapped(half + ", " + half + ", y", 2, 3, 80) == half + ",\n   " + half + ", y");
  CHECK(short_number(0.041273) == "0.04127");
  CHECK(short_number(421246.7) == "421,247");
  CHECK(short_number(3e20) == "3e+20");
  CHECK(counted(1, "rank") == "1 rank");
  CHECK(columns_of("conv1 · ━") == 9);
}

TEST_CASE("notes and tables fit 80 columns where their words allow it", "[cli]") {
  CHECK(in_lines("a bb\n  ccc dd", 1, 5) == "a bb\n  ccc\n dd");
  CHECK(in_lines("a longer word", 2, 4) == "a\n  longer\n  word");
  CHECK(in_lines("", 2, 4).empty());
  const auto widest = [](const std::string& text) {
    std::size_t most = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) most = std::max(most, columns_of(line));
    return most;
  };
  const std::string wide(34, 'x');
  CHECK(table({{"a", "b", "c"}, {wide, wide, "12345678"}}, 1) ==
        "a" + std::string(68, ' ') + "b" + std::string(9, ' ') + "c\n" + wide + "  " + wide + "  12345678\n");
  CHECK(widest(table({{"a", "b", "c"}, {wide, wide, "1234567890"}}, 1)) == 80);
  const std::string half(30, 'x'),
      words = table({{"first", "b", "c"}, {"some more words of a cell", half, half}}, 1);
  CHECK_THAT(words, Catch::Contains("\nsome more words of x") && Catch::EndsWith("x\n  a cell\n"));
  CHECK(widest(words) == 80);
  const std::string long_name = wide + wide;
  CHECK(table({{"a", "b"}, {long_name, "some more words"}, {"two words", "4"}}, 1) ==
        "a" + std::string(82, ' ') + "b\n" + long_name + " some more words\n" + "two words" +
            std::string(74, ' ') + "4\n");
  CHECK(widest(table({{"first", "b"}, {long_name, half}}, 1)) == 99);
}

TEST_CASE("a rank whose terminal is the launcher's has the width of the user's", "[cli]") {
  winsize users{.ws_row = 24, .ws_col = 50, .ws_xpixel = 0, .ws_ypixel = 0};
  int end = -1;
  const pid_t child = ::forkpty(&end, nullptr, nullptr, &users);
  REQUIRE(child >= 0);
  if (child == 0) {  // its controlling terminal has 50 columns
    const int own = window_columns();
    users.ws_col = 80;
    int outer = -1, inner = -1;
    if (::openpty(&outer, &inner, nullptr, nullptr, &users) != 0 || ::dup2(inner, STDOUT_FILENO) < 0)
      ::_exit(1);
    ::_exit(own == 50 && window_columns() == 50 ? 0 : 2);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  ::close(end);
}

TEST_CASE("advice comes when one node takes less time than all, and only then", "[cli]") {
  RunFacts facts = kFacts;
  facts.nodes = 4;
  CHECK(nodes_note(facts, {.comm_share = 0.74}).empty());
  CHECK(nodes_note(facts, {.comm_share = 0.8}) ==
        "4 nodes are slower than one: communication is 80% of the time, and one node takes about 80% of it; "
        "use fewer nodes or a larger batch");
  facts.nodes = 1;
  CHECK(nodes_note(facts, {.comm_share = 0.8}).empty());
}

}  // namespace trainer
