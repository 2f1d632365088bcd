// A list of images: its kind (`c`: columns of classes, `s`: a separator, others: one label) stands on a line
// before it.
#include <algorithm>
#include <utility>

#include "datasets/readers/image_list_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{
    "image_list", [](FuzzInput input) {
      static MemoryFile file;
      const auto end = std::ranges::find(input, '\n');
      const std::string words(input.begin(), end);
      if (words.size() != 1 || end == input.end()) return;
      file.hold({end + 1, input.end()});
      ImageListForm form;
      if (words[0] == 'c') form.labels = {"a", "b"};
      if (words[0] == 's') form.label_separator = "|";
      const ImageListFile list = read_image_list(file.path(), form, {});
      expect(list.name_ends.size() == list.lines.size() && list.label_ends.size() == list.lines.size(),
             "an image lacks a path or labels");
      expect(list.name_ends.back() == list.names.size() && list.label_ends.back() == list.labels.size(),
             "a path or a label is of no image");
      expect(list.has_several_labels || list.labels.size() == list.lines.size(),
             "an image does not have one label");
      for (const std::int32_t label : list.labels)
        expect(label >= 0 && std::cmp_less(label, list.classes.size()), "a label is no class");
      // The same list as a test set has the same labels.
      expect(read_image_list(file.path(), form, list.classes).labels == list.labels,
             "a list differs from itself");
    }};

}  // namespace
}  // namespace trainer
