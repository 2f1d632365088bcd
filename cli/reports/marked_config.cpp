#include "cli/reports/marked_config.h"

#include <algorithm>
#include <vector>

#include "cli/reports/html.h"
#include "engine/config/yaml_reader.h"

namespace trainer {
namespace {

bool is_plain(const Node& node) {
  return !node.is_map() &&
         std::ranges::none_of(node.items, [](const Node& item) { return !item.is_scalar(); });
}

void find_marks(const Node& whole, const Node& minimal, std::vector<Place>& marks);

void find_marks(const NodeEntry& whole, const Node& minimal, std::vector<Place>& marks) {
  if (is_plain(whole.value))
    marks.push_back(whole.key_place);
  else
    find_marks(whole.value, minimal, marks);
}

void find_marks(const Node& whole, const Node& minimal, std::vector<Place>& marks) {
  if (whole.is_list() && minimal.is_list()) {
    for (std::size_t i = 0; i < std::min(whole.items.size(), minimal.items.size()); ++i)
      find_marks(whole.items[i], minimal.items[i], marks);
  } else if (whole.is_map() && minimal.is_map()) {
    for (const NodeEntry& entry : minimal.entries)
      if (const NodeEntry* found = whole.find(entry.key)) find_marks(*found, entry.value, marks);
  } else if (whole.is_map()) {
    // A member without settings, or its primary setting without its key.
    for (const NodeEntry& entry : whole.entries)
      if (entry.key == minimal.text ||
          (entry.value.form == minimal.form && entry.value.text == minimal.text)) {
        marks.push_back(entry.key_place);
        break;
      }
  } else {
    marks.push_back(whole.place);
  }
}

}  // namespace

std::string marked_config(const std::string& whole, const std::string& minimal) {
  const SourceText text{.name = "config.yaml", .text = whole},
      short_text{.name = "config.yaml", .text = minimal};
  std::vector<Place> marks;
  find_marks(parse_yaml(text), parse_yaml(short_text), marks);
  std::ranges::sort(marks, {}, &Place::offset);
  std::string html;
  std::size_t done = 0;
  for (const Place& mark : marks) {
    if (mark.offset < done || mark.offset > whole.size()) continue;
    html += html_text(whole.substr(done, mark.offset - done)) + "<mark>" +
            html_text(whole.substr(mark.offset, mark.length)) + "</mark>";
    done = mark.offset + mark.length;
  }
  return html + html_text(whole.substr(std::min(done, whole.size())));
}

}  // namespace trainer
