// A CSV file, once or twice: the separator, how many lines are a header (a digit, others: recognised), a
// character whose bits are the treatment of missing values and more, and the target's column stand on a line
// before it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "datasets/readers/column_types.h"
#include "datasets/readers/csv_files.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{
    "csv", [](FuzzInput input) {
      static MemoryFile file;
      const auto end = std::ranges::find(input, '\n');
      const std::string words(input.begin(), end);
      if (words.size() < 3 || end == input.end()) return;
      file.hold({end + 1, input.end()});
      const unsigned bits = static_cast<std::uint8_t>(words[2]);
      CsvForm form{.targets = {words.substr(3)}, .has_labels = bits % 2 == 0};
      if (words[0] != 'a') form.separator = words[0];
      if (words[1] >= '0' && words[1] <= '9') form.header = words[1] - '0';
      if (bits / 64 % 2 != 0) form.weight = "w";
      const std::vector<std::string> files(1 + bits / 8 % 2, file.path());
      CsvTable table = read_csv_files(files, form);
      if (form.texts = mixed_columns(table); !form.texts.empty()) table = read_csv_files(files, form);
      expect(form.weight.empty() || table.weights.size() == table.lines.size(), "a sample has no weight");
      // The second half is held out.
      std::vector<std::int64_t> training(table.lines.size() / 2 + 1);
      std::iota(training.begin(), training.end(), 0);
      set_types(table, training,
                {.missing = static_cast<ColumnRules::Missing>(bits / 2 % 4), .max_categories = 2});
      const TableFeatures features(table.columns);
      const std::vector<float> cells = cells_of(table, features);
      expect(cells.size() == table.lines.size() * features.inputs(), "a table has holes");
      expect(std::cmp_equal(features.names().size(), features.size()), "an element has no name");
      std::vector<float> elements(features.size());
      for (std::size_t row = 0; row < table.lines.size(); ++row) {
        features.expand(std::span(cells).subspan(row * features.inputs(), features.inputs()), elements);
        for (const float element : elements) expect(std::isfinite(element), "an element is no number");
      }
      // The same file as a test set has the same elements.
      CsvForm again = form;
      again.trained = &table.columns;
      const std::vector<float> same = cells_of(read_csv_files(files, again), features);
      for (std::size_t i = 0; i < cells.size(); ++i)
        expect(same[i] == cells[i] || (std::isnan(same[i]) && std::isnan(cells[i])),
               "a table differs from itself");
    }};

}  // namespace
}  // namespace trainer
