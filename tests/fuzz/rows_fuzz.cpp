// A table without labels, as `predict` reads it: the first line holds the separator, how many lines stand
// above the samples (a digit) and the names of the inputs, one letter each: capitals for categories, x to z
// for booleans.
#include <algorithm>

#include "datasets/inputs/text_samples.h"
#include "datasets/readers/table_features.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{
    "rows", [](FuzzInput input) {
      static MemoryFile file;
      const auto end = std::ranges::find(input, '\n');
      const std::string form(input.begin(), end);
      if (form.size() < 3 || end == input.end()) return;
      file.hold({end + 1, input.end()});
      DataDescription data{.form = {.separator = form[0], .header = std::clamp(form[1] - '0', 0, 9)}};
      for (const char name : form.substr(2)) {
        TableColumn& column = data.form.columns.emplace_back();
        column.name = name;
        if (name >= 'x') column.kind = TableColumn::Kind::boolean;
        if (name < 'A' || name > 'Z') continue;
        column.kind = TableColumn::Kind::category;
        column.categories = {"1", "u"};
        column.missing = name % 2;
        column.others = name % 3;
      }
      data.info.sample = {TableFeatures(data.form.columns).size()};
      const auto source = table_samples(InputText(file.path()), data, "");
      RawSample sample;
      std::int64_t last = 0;
      while (source->next(sample, true) == SampleSource::Next::sample) {
        if (sample.unit != RawSample::Unit::line) continue;
        expect(sample.place > last, "samples are not in the order of their lines");
        last = sample.place;
      }
    }};

}  // namespace
}  // namespace trainer
