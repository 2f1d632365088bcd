// A CSV file: the separator, how many lines are a header (a digit) and the target's column stand on a line
// before it.
#include <algorithm>
#include <utility>

#include "datasets/readers/csv_table.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{
    "csv", [](FuzzInput input) {
      static MemoryFile file;
      const auto end = std::ranges::find(input, '\n');
      const std::string form(input.begin(), end);
      if (form.size() < 2 || end == input.end()) return;
      file.hold({end + 1, input.end()});
      const CsvTable table = read_csv(
          file.path(),
          {.separator = form[0], .header = std::clamp(form[1] - '0', 0, 9), .targets = {form.substr(2)}});
      expect(std::cmp_equal(table.values.size(), table.rows() * table.columns), "a table has holes");
    }};

}  // namespace
}  // namespace trainer
