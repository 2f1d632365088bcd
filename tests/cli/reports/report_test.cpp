#include "cli/reports/report.h"

#include <catch2/catch.hpp>
#include <limits>

#include "cli/reports/comparison.h"
#include "cli/reports/marked_config.h"
#include "cli/reports/rank_times.h"
#include "cli/reports/run_log.h"
#include "cli/reports/samples_html.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/small_data.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::string line_of(int step, const std::string& split, const std::string& rest) {
  return R"({"step":)" + std::to_string(step) + R"(,"epoch":1,"split":")" + split + R"(",)" + rest +
         R"(,"lr":0.1,"examples_per_second":1234,"comm_share":0.04,"data_share":0,"time":1.5})" + "\n";
}

}  // namespace

TEST_CASE("a line that is no line of metrics is skipped", "[cli]") {
  const TemporaryFolder folder;
  write_text(folder.path() / "metrics.jsonl", line_of(1, "train", R"("loss":2.5,"accuracy":0.1)") +
                                                  "[1]\n{\"step\":\"x\",\"split\":\"train\"}\n" +
                                                  line_of(2, "train", R"("loss":null)") +
                                                  R"({"step":3,"spl)");
  const RunLog log = read_run_log(folder.path());
  CHECK(log.names == std::vector<std::string>{"loss", "accuracy"});
  REQUIRE(log.rows.size() == 2);
  CHECK(log.rows[0].scores == std::vector<double>{2.5, 0.1});
  CHECK(log.rows[1].scores[0] != log.rows[1].scores[0]);
  CHECK(log.best_evaluation() == nullptr);
}

TEST_CASE("lines without scores, before those that have them, are rows without values", "[cli]") {
  const TemporaryFolder folder;
  write_text(folder.path() / "metrics.jsonl", R"({"step":1,"split":"test"})"
                                              "\n" +
                                                  line_of(2, "train", R"("loss":2.5,"accuracy":0.1)"));
  const RunLog log = read_run_log(folder.path());
  REQUIRE(log.rows.size() == 2);
  for (const RunLog::Row& row : log.rows) CHECK(row.scores.size() == 2);
  CHECK(report_html(folder.path()).find("accuracy") != std::string::npos);
}

TEST_CASE("the best evaluation is that of the best weights, else the last one", "[cli]") {
  const TemporaryFolder folder;
  write_text(folder.path() / "metrics.jsonl",
             line_of(5, "test", R"("loss":1)") + line_of(9, "test", R"("loss":2)"));
  CHECK(read_run_log(folder.path()).best_evaluation()->step == 9);
  fs::create_directory(folder.path() / "checkpoints");
  fs::create_symlink("step-5", folder.path() / "checkpoints/best");
  CHECK(read_run_log(folder.path()).best_evaluation()->step == 5);
}

TEST_CASE("a report shows the best weights, and no other run's", "[cli]") {
  const TemporaryFolder folder;
  const fs::path mine = folder.path() / "mine/checkpoints", other = folder.path() / "other";
  fs::create_directories(mine / "step-5");
  fs::create_directory(other);
  const float number = 1;
  const std::vector<NamedView> tensors{{"a.weight", ConstTensor(&number, Shape({1}))}};
  write_safetensors(mine / "step-5/model.safetensors", tensors);
  write_safetensors(other / "model.safetensors", tensors);
  fs::create_symlink("step-5", mine / "best");
  CHECK(report_html(mine.parent_path()).find("a.weight") != std::string::npos);
  SECTION("a checkpoint that is a link") {
    fs::remove_all(mine / "step-5");
    fs::create_symlink(other, mine / "step-5");
  }
  SECTION("a file of it that is a link") {
    fs::remove(mine / "step-5/model.safetensors");
    fs::create_symlink(other / "model.safetensors", mine / "step-5/model.safetensors");
  }
  CHECK(report_html(mine.parent_path()).find("a.weight") == std::string::npos);
}

TEST_CASE("a report has a table of classes, and no text of a run breaks its page", "[cli]") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "<b>";
  fs::create_directory(run);
  write_text(run / "metrics.jsonl",
             line_of(1, "train", R"("loss":2.5)") +
                 line_of(1, "test", R"("loss":2,"confusion":[[3,1],[0,4]],"<i>":[[1,2],[3]])"));
  write_text(run / "config.yaml", "file: </pre><script>alert(1)</script>\n");
  write_text(run / "environment.json", R"({"cpu":"<script>","threads":2})");
  write_text(run / "results.csv", "epoch,time\n1,2.5\n");
  const std::string page = report_html(run);
  CHECK(page.find("<title>&lt;b&gt;</title>") != std::string::npos);
  CHECK(page.find("<script>") == std::string::npos);
  CHECK(page.find("<i>") == std::string::npos);
  CHECK(page.find("http") == std::string::npos);
  CHECK(page.find("<td>0</td><td>4</td><td>100.0%</td><td>75.0%</td>") != std::string::npos);
  CHECK(page.find("<td>1</td><td>4</td><td>80.0%</td><td>100.0%</td>") != std::string::npos);
  CHECK(page.find("test loss 2") != std::string::npos);
}

TEST_CASE("without the metric `confusion` a report takes the table of the best evaluation", "[cli]") {
  const TemporaryFolder folder;
  const auto page = [&] { return report_html(folder.path()); };
  for (const char* broken :
       {"", "[]", R"({"confusion":3})", R"({"confusion":[[1,2]]})", R"({"confusion":[["<b>"]]})"}) {
    write_text(folder.path() / "samples.json", broken);
    CHECK_THAT(page(), !Catch::Contains("confusion"));
  }
  write_text(folder.path() / "samples.json", R"({"confusion":[[3,1],[0,4]]})");
  CHECK_THAT(page(), Catch::Contains("<h2>confusion, best evaluation</h2>") &&
                         Catch::Contains("<td>0</td><td>4</td><td>100.0%</td><td>75.0%</td>"));
  write_text(folder.path() / "metrics.jsonl", line_of(1, "test", R"("loss":2,"confusion":[[8]])"));
  CHECK_THAT(page(), Catch::Contains("<h2>confusion, last evaluation</h2>") && !Catch::Contains("75.0%"));
}

TEST_CASE("a report shows fractions in percent and lists in words", "[cli]") {
  const TemporaryFolder folder;
  write_text(folder.path() / "config.yaml",
             "data: {dataset: digits}\nmodel: {layers: [{dense: 10}], loss: softmax_cross_entropy}\n"
             "train: {epochs: 1, batch: 8, optimizer: {sgd: {lr: 0.1}}, metrics: [accuracy]}\n");
  write_text(folder.path() / "metrics.jsonl", line_of(1, "train", R"("loss":2.5,"accuracy":0.5)") +
                                                  line_of(2, "train", R"("loss":1,"accuracy":1)") +
                                                  line_of(2, "test", R"("loss":2,"accuracy":0.875)"));
  write_text(folder.path() / "results.csv",
             "epoch,time,test/loss,test/accuracy,lr,examples_per_second,comm_share\n"
             "1,2.512,0.123456789,0.875,0.00240228862,505789.2,0.0411\n");
  write_text(folder.path() / "environment.json", R"({"hosts":["a","<b>"],"mesh":[2,1],"odd":{"x":1}})");
  const std::string page = report_html(folder.path());
  for (const char* part : {"test loss 2, test accuracy 87.50%", ">100%</text>", ">train 50.00%</tspan>",
                           "<td>1</td><td>2.512</td><td>0.1235</td><td>87.50%</td>",
                           "<td>0.002402</td><td>505,789</td><td>4.11%</td>", "<td>a, &lt;b&gt;</td>",
                           "<td>2, 1</td>", "{&quot;x&quot;:1}"})
    CHECK_THAT(page, Catch::Contains(part));
}

TEST_CASE("a report marks the step of the best weights in its curves", "[cli]") {
  const TemporaryFolder folder;
  const std::string scores = R"("loss":2.5)";
  write_text(folder.path() / "metrics.jsonl",
             line_of(5, "train", scores) + line_of(9, "train", scores) + line_of(5, "test", scores));
  CHECK(report_html(folder.path()).find("class=\"mark\"") == std::string::npos);
  fs::create_directory(folder.path() / "checkpoints");
  fs::create_symlink("step-5", folder.path() / "checkpoints/best");
  CHECK(report_html(folder.path()).find(">best</text><circle class=\"ring\"") != std::string::npos);
}

TEST_CASE("a comparison draws each score of all runs in one chart and escapes their texts", "[cli]") {
  const TemporaryFolder folder;
  std::vector<ComparedRun> runs;
  for (const std::string name : {"<i>", "b"}) {
    write_text(folder.path() / "metrics.jsonl", line_of(1, "train", R"("loss":2.5)") +
                                                    line_of(2, "train", R"("loss":1.5)") +
                                                    line_of(2, "test", R"("loss":1)"));
    runs.push_back(
        {name, read_run_log(folder.path()), machine_text(R"({"ranks":2,"threads":1,"hosts":["a"]})")});
  }
  const std::string page = comparison_html(runs, {{"run"}, {"<i>"}, {"b"}}, {{"setting"}});
  CHECK(page.find("<i>") == std::string::npos);
  CHECK(page.find("http") == std::string::npos);
  for (const char* part : {"<h1>2 runs</h1>", "loss, evaluations", "loss, training", "path class=\"c1\"",
                           "2 ranks x 1 thread on a", "All settings are the same."})
    CHECK(page.find(part) != std::string::npos);
  CHECK(machine_text("[1]").empty());
}

TEST_CASE("a comparison of many runs draws those that are first in its table", "[cli]") {
  const TemporaryFolder folder;
  write_text(folder.path() / "metrics.jsonl", line_of(1, "train", R"("loss":2.5,"accuracy":0.5)") +
                                                  line_of(2, "train", R"("loss":1,"accuracy":1)"));
  std::vector<ComparedRun> runs;
  for (int i = 0; i < 10; ++i) {
    runs.push_back({"run" + std::to_string(i), read_run_log(folder.path()), ""});
    runs.back().log.fractions = {"accuracy"};
  }
  runs[2].log.rows.clear();
  const std::string page = comparison_html(runs, {{"run"}}, {{"setting"}});
  for (const char* part : {">run0</span>", ">run8</span>", "class=\"c7\"", ">100%</text>", "8 runs"})
    CHECK_THAT(page, Catch::Contains(part));
  for (const char* part : {">run2</span>", ">run9</span>"}) CHECK_THAT(page, !Catch::Contains(part));
}

TEST_CASE("samples are shown as images, rows or texts, and nothing of their file breaks the page", "[cli]") {
  const std::string png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
  const auto page_of = [](const std::string& samples) {
    return samples_html(R"({"split":"<i>","probabilities":true,"worst":[)" + samples + "]}");
  };
  const std::string card =
      page_of(R"({"index":3,"loss":2.5,"target":"<b>","predicted":[["<i>",0.75]],"image":")" + png + "\"}");
  CHECK(card.find("data:image/png;base64," + png) != std::string::npos);
  CHECK(card.find("<b>&lt;b&gt;</b><br><bdi>&lt;i&gt;</bdi>: 75.0%<br>loss 2.5<br>sample 3<") !=
        std::string::npos);
  CHECK(card.find("<i>") == std::string::npos);
  const std::string row = page_of(R"({"index":3,"loss":null,"outputs":[1,2],"fields":[["<i>","<u>"]]})");
  CHECK(row.find("<td>inf</td><td></td><td>1, 2</td><td>&lt;u&gt;</td>") != std::string::npos);
  CHECK(page_of(R"({"index":3,"loss":1,"text":"<script>"})").find("<blockquote>&lt;script&gt;") !=
        std::string::npos);
  CHECK(page_of(R"({"image":"javascript:alert"})").find("<img") == std::string::npos);
  for (const char* broken : {"", "[", "[1]", "{}", R"({"worst":1})", R"({"worst":[1]})", R"({"worst":[{}]})"})
    CHECK(samples_html(broken).find("<img") == std::string::npos);
}

TEST_CASE("of the samples with the highest loss those that are predicted right are no mistakes", "[cli]") {
  const auto page_of = [](const std::string& target) {
    return samples_html(R"({"split":"test","worst":[{"index":3,"loss":0.1,"target":")" + target +
                        R"(","predicted":[["cat",0.9]]}]})");
  };
  CHECK(page_of("dog").find("sample 3<") != std::string::npos);
  CHECK(page_of("cat").find("sample 3<") == std::string::npos);
  CHECK(page_of("cat").find("Worst mistakes") != std::string::npos);
  CHECK(page_of("cat").find("is predicted wrong") != std::string::npos);
}

TEST_CASE("samples without outputs are not called predictions", "[cli]") {
  const auto page_of = [](const std::string& rest) {
    return samples_html(R"({"split":"test","spread":[{"index":3,"loss":0.1)" + rest + "}]}");
  };
  CHECK(page_of(R"(,"text":"a")").find("<h2>Samples</h2>") != std::string::npos);
  CHECK(page_of(R"(,"outputs":[1])").find("<h2>Predictions</h2>") != std::string::npos);
}

TEST_CASE("a bar shows the shares of each rank's time", "[cli]") {
  const std::string csv = rank_times_csv({{.computing = 3, .waiting = 1}, {.computing = 2, .data = 2}});
  CHECK(csv ==
        "rank,computing,data,communication,waiting\n0,3.000,0.000,0.000,1.000\n1,2.000,2.000,0.000,0.000\n");
  const std::string html = rank_times_html(csv);
  CHECK(html.find("<div><span>0</span><i class=\"c0\" style=\"width:75.0%\" title=\"computing 3.0s\"></i>"
                  "<i class=\"c3\" style=\"width:25.0%\"") != std::string::npos);
  CHECK(html.find("<td>0</td><td>4.0s</td><td>75.0%</td>") != std::string::npos);
  CHECK(rank_times_html(rank_times_csv({{.computing = 0.04}})).find("<td>0.04s</td>") != std::string::npos);
  for (const char* broken : {"", "rank", "rank,computing,data,communication,waiting\n1,<b>,2,3,4\n"})
    CHECK(rank_times_html(broken).empty());
}

TEST_CASE("keys that differ from their defaults are marked, with primary settings and members too", "[cli]") {
  const std::string whole =
      "model:\n  layers:\n    - {conv: {filters: 4, kernel: 3, stride: 1}}\n    - {relu: {ceiling: 0}}\n"
      "    - {dense: {units: 10, bias: true}}\ntrain: {batch: 8, seed: 1, metrics: [accuracy, \"<b>\"]}\n";
  const std::string minimal =
      "model: {layers: [{conv: {filters: 4, kernel: 3}}, relu, {dense: 10}]}\n"
      "train: {batch: 8, metrics: [accuracy, \"<b>\"]}\n";
  CHECK(marked_config(whole, minimal) ==
        "model:\n  layers:\n    - {conv: {<mark>filters</mark>: 4, <mark>kernel</mark>: 3, stride: 1}}\n"
        "    - {<mark>relu</mark>: {ceiling: 0}}\n    - {dense: {<mark>units</mark>: 10, bias: true}}\n"
        "train: {<mark>batch</mark>: 8, seed: 1, <mark>metrics</mark>: [accuracy, &quot;&lt;b&gt;&quot;]}\n");
}

TEST_CASE("a report shows the kernels of the first convolution and the histogram of each tensor", "[cli]") {
  const TemporaryFolder folder;
  const fs::path checkpoint = folder.path() / "checkpoints/step-5";
  fs::create_directories(checkpoint);
  fs::create_symlink("step-5", folder.path() / "checkpoints/last");
  const std::vector<float> weights{1, -1, 0.5f, 0, 0, 0, 0, 0};
  write_safetensors(checkpoint / "model.safetensors",
                    std::vector<NamedView>{{"a.weight", ConstTensor(weights.data(), Shape({2, 1, 2, 2}))}});
  const std::string page = report_html(folder.path());
  CHECK(page.find("The kernels of a.weight: black") != std::string::npos);
  CHECK(page.find("<svg class=\"spark\"") != std::string::npos);
  const std::size_t kernels = page.find("<div class=\"kernels\">");
  REQUIRE(kernels != std::string::npos);
  CHECK(page.substr(kernels, page.find("</div>", kernels) - kernels).find("<img", 40) != std::string::npos);
}

TEST_CASE("weights that are not finite have no images", "[cli]") {
  const TemporaryFolder folder;
  const fs::path checkpoint = folder.path() / "checkpoints/step-5";
  fs::create_directories(checkpoint);
  fs::create_symlink("step-5", folder.path() / "checkpoints/last");
  const std::vector<float> weights{1, std::numeric_limits<float>::quiet_NaN(), 0.5f, 0, 0, 0, 0, 0};
  write_safetensors(checkpoint / "model.safetensors",
                    std::vector<NamedView>{{"a.weight", ConstTensor(weights.data(), Shape({2, 1, 2, 2}))}});
  const std::string page = report_html(folder.path());
  const std::size_t kernels = page.find("<div class=\"kernels\">"), first = page.find("<img", kernels);
  REQUIRE(first != std::string::npos);
  CHECK(page.find("<img", first + 1) == std::string::npos);
}

TEST_CASE("a report shows why the last start of its run ended", "[cli]") {
  const TemporaryFolder folder;
  write_text(folder.path() / "command.txt",
             "trainer a.yaml\n# before\ntrainer --resume a\n# loss <is> NaN\n");
  const std::string page = report_html(folder.path());
  CHECK_THAT(page, Catch::Contains("<p><mark>loss &lt;is&gt; NaN</mark></p>"));
  CHECK_THAT(page, !Catch::Contains("<mark>before"));
  CHECK_THAT(page, Catch::Contains("# before"));
}

TEST_CASE("a run without a logged step has a report that states it", "[cli]") {
  const TemporaryFolder folder;
  CHECK(report_html(folder.path()).find("No step has been logged.") != std::string::npos);
  CHECK(report_html(folder.path()).find("Gradients") == std::string::npos);
  write_text(folder.path() / "gradients.csv", "step,dense1/gradient,dense1/update_ratio\n");
  const char* const without = "<h2>Gradients</h2>\n<p>No step has been logged: the run has fewer steps than";
  CHECK_THAT(report_html(folder.path()), Catch::Contains(without));
  write_text(folder.path() / "gradients.csv", "step,dense1/gradient,dense1/update_ratio\n1,2,3\n");
  CHECK_THAT(report_html(folder.path()), !Catch::Contains(without));
}

TEST_CASE("the first line of a report has each share of the time but those below a percent", "[cli]") {
  const TemporaryFolder folder;
  const auto page = [&](const std::string& shares) {
    write_text(folder.path() / "metrics.jsonl",
               R"({"step":1,"epoch":1,"split":"train","loss":2)" + shares + "}\n");
    return report_html(folder.path());
  };
  CHECK_THAT(page(R"(,"comm_share":0.1,"wait_share":0.22,"data_share":0.001)"),
             Catch::Contains(" Of the last epoch 10% was communication, 22% waiting for other ranks.<"));
  CHECK_THAT(page(R"(,"comm_share":0.1,"wait_share":0.22,"slow_rank":2,"data_share":0.02)"),
             Catch::Contains("22% waiting for other ranks, 2% waiting for data; rank 2 is slow.<"));
  CHECK_THAT(page(R"(,"comm_share":0,"wait_share":0,"data_share":0.43)"),
             Catch::Contains(" Of the last epoch 43% was waiting for data.<"));
  CHECK_THAT(page(""), !Catch::Contains("Of the last epoch"));
}

}  // namespace trainer
