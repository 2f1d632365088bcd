// A table without labels, as `predict` reads it: the first line holds the separator, how many lines stand
// above the samples (a digit) and the names of the inputs, one letter each.
#include <algorithm>

#include "datasets/inputs/text_samples.h"
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
      for (const char name : form.substr(2)) data.form.columns.push_back({.name = std::string(1, name)});
      data.info.sample = {std::ssize(data.form.columns)};
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
