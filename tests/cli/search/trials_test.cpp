// How trials are scored, recorded and shown.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "cli/search/search_folder.h"
#include "cli/search/search_report.h"
#include "cli/search/spread.h"
#include "cli/search/trial_table.h"
#include "engine/core/error.h"
#include "tests/support/small_data.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();
const ScoreFacts kAccuracy{.split = "test", .metrics = {{.name = "accuracy", .short_name = "acc"}}};
const ScoreFacts kLoss{.split = "valid"};

Outcome scored(double loss, double accuracy, double share = 1) {
  return {.share = share, .epochs = 3, .best_epoch = 2, .scores = {loss, accuracy}};
}

SearchPlan small_plan() {
  return {.kind = "sweep",
          .method = "random",
          .configs = {"a.yaml"},
          .spaces = {"train.lr=log(1,9)"},
          .keys = {"train.lr"},
          .trials = {{.number = 1, .values = {"1"}, .settings = {"train.lr=1"}},
                     {.number = 2, .values = {"<b>"}, .settings = {"train.lr=<b>"}}}};
}

std::vector<int> order_of(std::vector<EndedTrial> trials, const ScoreFacts& facts) {
  sort_by_score(trials, facts);
  std::vector<int> order;
  order.reserve(trials.size());
  for (const EndedTrial& one : trials) order.push_back(one.trial.number);
  return order;
}

}  // namespace

TEST_CASE("trials are sorted by the share they trained, then the first metric or the loss, then their number",
          "[search]") {
  const auto trial = [](int number, const Outcome& outcome) {
    return EndedTrial{{.number = number}, outcome};
  };
  const std::vector<EndedTrial> trials{trial(1, {.code = 5}), trial(2, scored(0.1, 0.8)),
                                       trial(3, scored(0.2, 0.9)), trial(4, scored(0.2, 0.9)),
                                       trial(5, scored(0.01, 0.99, 0.5))};
  CHECK(order_of(trials, kAccuracy) == std::vector<int>{3, 4, 2, 5, 1});
  CHECK(kLoss.is_better(0.1, 0.2));
  CHECK(kAccuracy.is_better(0.1, kNan));
  CHECK_FALSE(kAccuracy.is_better(kNan, kNan));
}

TEST_CASE("the score of a run is its best evaluation, and a failure has the first line of its error",
          "[search]") {
  const TemporaryFolder folder;
  write_text(folder.path() / "metrics.jsonl",
             "{\"step\":1,\"epoch\":1,\"split\":\"train\",\"loss\":9,\"accuracy\":1}\n"
             "{\"step\":1,\"epoch\":1,\"split\":\"test\",\"loss\":3,\"accuracy\":0.5}\n"
             "{\"step\":2,\"epoch\":2,\"split\":\"test\",\"loss\":2,\"accuracy\":0.75}\n"
             "{\"step\":3,\"epoch\":3,\"split\":\"test\",\"loss\":1,\"accuracy\":0.75}\n");
  write_text(folder.path() / "log", "error: an old one\nresumes\nerror: loss is NaN\nhelp: warmup\n");
  const Outcome good = outcome_of(folder.path(), folder.path() / "log", 0, 0.5, kAccuracy);
  CHECK(good.scores == std::vector<double>{2, 0.75});
  CHECK(good.best_epoch == 2);
  CHECK(good.epochs == 3);
  CHECK(good.share == 1);  // code 0: the run is complete
  const Outcome bad = outcome_of(folder.path(), folder.path() / "log", 5, 1, kAccuracy);
  CHECK(bad.has_failed());
  CHECK(bad.message == "loss is NaN");
}

TEST_CASE("a search reads back what it recorded, and repeats trials that the machine ended", "[search]") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "s").string();
  {
    SearchFolder search(path, "", "", small_plan(), {"a: 1\n", "a: 2\n"});
    const std::vector<Trial>& trials = search.plan().trials;
    search.add_outcome(trials[0], scored(0.25, 0.5, 1.0 / 3), kAccuracy);
    search.add_outcome(trials[0], {.code = 137, .message = "killed"}, kAccuracy);
    search.add_outcome(trials[1], {.code = 5, .message = "loss is NaN"}, kAccuracy);
    CHECK_THROWS_AS(SearchFolder(path), Error);  // in use
    CHECK(read_text(search.config_of(trials[1])) == "a: 2\n");
  }
  write_text(folder.path() / "s/results.jsonl", read_text(folder.path() / "s/results.jsonl") + "{\"tri");
  const SearchFolder again(path);
  CHECK(again.plan().trials[1].settings == small_plan().trials[1].settings);
  const std::vector<ReadOutcome> read = again.read_outcomes(kAccuracy);
  REQUIRE(read.size() == 2);
  CHECK(read[0].trial == 1);
  CHECK(read[0].outcome.scores == std::vector<double>{0.25, 0.5});
  CHECK(read[0].outcome.share == 1.0 / 3);
  CHECK(read[1].outcome.message == "loss is NaN");
  CHECK_THROWS_AS(SearchFolder(path, "", "", small_plan(), {"", ""}), Error);  // not empty
  write_text(folder.path() / "s/plan.json", "{\"kind\":\"sweep\"}");
  CHECK_THROWS_AS(SearchFolder(path), Error);
}

TEST_CASE("the report draws a line for each trial with a score and escapes what a user wrote", "[search]") {
  const TemporaryFolder folder;
  const SearchFolder search((folder.path() / "s").string(), "", "", small_plan(), {"", ""});
  const std::vector<EndedTrial> trials{{search.plan().trials[1], scored(0.2, 0.9)},
                                       {search.plan().trials[0], {.code = 5, .message = "<i>"}}};
  const std::string html =
      search_report_html(search, trials, kAccuracy, {"Again", "trainer a.yaml -s x='<b>'"});
  CHECK(html.find("<b>") == std::string::npos);
  CHECK(html.find("<i>") == std::string::npos);
  CHECK(html.find("class=\"trial best\"") != std::string::npos);
  CHECK(html.find("class=\"trial\"") == std::string::npos);
  CHECK(html.find("href=\"trials/001/report.html\"") != std::string::npos);
  CHECK(html.find("nan") == std::string::npos);
  CHECK(trials_csv(search.plan(), trials, kAccuracy) ==
        "trial,train.lr,code,share,epochs,best_epoch,test/loss,test/accuracy,message\n"
        "2,<b>,0,1,3,2,0.2,0.9,\n1,1,5,1,0,0,,,<i>\n");
}

TEST_CASE("the report of a cross-validation has its folds in their order and calls none the best",
          "[search]") {
  const TemporaryFolder folder;
  SearchPlan plan = small_plan();
  plan.kind = "cv";
  plan.method = "2 folds";
  const SearchFolder search((folder.path() / "c").string(), "", "", plan, {"", ""});
  const std::string html = search_report_html(
      search, {{plan.trials[1], scored(0.2, 0.9)}, {plan.trials[0], scored(0.3, 0.8)}}, kAccuracy, {});
  CHECK(html.find("cross-validation with 2 folds") != std::string::npos);
  CHECK(html.find("class=\"trial") == std::string::npos);
  CHECK(html.find("best first") == std::string::npos);
  CHECK(html.find("trials/001/") < html.find("trials/002/"));
}

TEST_CASE("mean and deviation are over the trials that have scores", "[search]") {
  const std::vector<EndedTrial> trials{{{}, scored(1, 0.5)}, {{}, scored(3, 0.5)}, {{}, {.code = 5}}};
  const std::vector<Spread> spreads = spreads_of(trials, kAccuracy);
  REQUIRE(spreads.size() == 2);
  CHECK(spreads[0].name == "test loss");
  CHECK(spreads[0].mean == 2);
  CHECK(spreads[0].deviation == Approx(std::sqrt(2.0)));
  CHECK(spreads[1].deviation == 0);
  CHECK(std::isnan(spreads_of({trials[0]}, kAccuracy)[0].deviation));
  CHECK(spread_csv(spreads, 2) ==
        "score,mean,deviation,runs\ntest loss,2,1.41421356,2\ntest accuracy,0.5,0,2\n");
}

}  // namespace trainer
