// The logs of a run directory: results.csv and, after a zero byte, metrics.jsonl. The report reads them, and
// a run that resumes.
#include "cli/reports/report.h"
#include "engine/system/files.h"
#include "models/checkpoints/run_directory.h"
#include "tests/fuzz/target.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

const FuzzTarget target{
    "run_log", [](FuzzInput input) {
      static const TemporaryFolder folder;
      const std::filesystem::path& run = folder.path();
      const std::string text = text_of(input);
      const std::size_t middle = std::min(text.find('\0'), text.size());
      write_file(run / "config.yaml", "");
      // Each run that resumes adds a line.
      write_file(run / "command.txt", "");
      write_file(run / "results.csv", text.substr(0, middle));
      write_file(run / "metrics.jsonl", middle < text.size() ? text.substr(middle + 1) : "");
      report_html(run);

      RunDirectory directory(run);
      directory.resume({}, {.step = 7, .steps_per_epoch = 5});
      directory.on_start(
          {.steps_per_epoch = 5, .total_steps = 10, .metrics = {}, .evaluation_split = "test"});
      const std::string rows = read_file(run / "results.csv", ExitCode::failure, 1 << 20);
      expect(rows.ends_with('\n'), "a row after a broken line is part of that line");
      report_html(run);
    }};

}  // namespace
}  // namespace trainer
