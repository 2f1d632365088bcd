#include "engine/config/source.h"

#include <algorithm>

#include "engine/core/escape.h"
#include "engine/core/lower_case.h"

namespace trainer {
namespace {

constexpr std::size_t kWidestExcerpt = 120;  // characters of a source line
constexpr std::size_t kMaxMistakes = 50;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

// The part of `text` from character `first`, `count` characters long.
std::string_view cut(std::string_view text, std::size_t first, std::size_t count) {
  const auto byte_of = [&](std::size_t character) {
    std::size_t byte = 0;
    while (byte < text.size() && (!starts_character(text[byte]) || character > 0)) {
      if (starts_character(text[byte])) --character;
      ++byte;
    }
    return byte;
  };
  const std::size_t begin = byte_of(first), end = byte_of(first + count);
  return text.substr(begin, end - begin);
}

}  // namespace

std::string Place::text() const {
  if (!*this) return "";
  if (source->origin == SourceText::Origin::command_line || offset == kWhole) return source->name;
  const std::string_view before = std::string_view(source->text).substr(0, offset);
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return source->name + ":" + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) + ":" +
         std::to_string(1 + characters(before.substr(line_start)));
}

std::string Place::excerpt(const std::string& hint) const {
  if (!*this || source->origin == SourceText::Origin::command_line || offset == kWhole) return "";
  const std::string_view whole = source->text;
  const std::string_view before = whole.substr(0, offset);
  const std::size_t start = before.rfind('\n') + 1;
  std::string_view line = whole.substr(start, std::min(whole.find('\n', start), whole.size()) - start);
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);

  const std::size_t marked = std::min(offset - start, line.size());
  std::size_t column = characters(escaped(line.substr(0, marked)));
  std::size_t carets = std::max<std::size_t>(1, characters(escaped(line.substr(marked, length))));
  const std::string visible = escaped(line);
  line = visible;
  const std::size_t width = characters(line);
  if (width > kWidestExcerpt) {
    const std::size_t first = column > kWidestExcerpt / 2 ? column - kWidestExcerpt / 2 : 0;
    line = cut(line, first, kWidestExcerpt);
    column -= first;
    carets = std::min(carets, kWidestExcerpt - column);
  }
  const std::string number = std::to_string(1 + std::count(before.begin(), before.end(), '\n'));
  return number + " | " + std::string(line) + "\n" + std::string(number.size(), ' ') + " | " +
         std::string(column, ' ') + std::string(carets, '^') + (hint.empty() ? "" : " " + escaped(hint));
}

bool Place::before(const Place& other) const {
  if (source != other.source) return false;  // texts keep the order in which they were reported
  return (offset == kWhole ? 0 : offset) < (other.offset == kWhole ? 0 : other.offset);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  const bool too_long = characters(text) > kLongest;
  return "`" + escaped(too_long ? cut(text, 0, kLongest) : text) + (too_long ? "...`" : "`");
}

std::string listed(const std::vector<std::string>& names, const std::string& last) {
  constexpr std::size_t kMax = 40;
  std::string result;
  const std::size_t shown = std::min(names.size(), kMax);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) result += i + 1 == names.size() && !last.empty() ? " " + last + " " : ", ";
    result += names[i];
  }
  return names.size() > kMax ? result + ", ..." : result;
}

std::string nearest(std::string_view word, const std::vector<std::string>& names) {
  constexpr std::size_t kLongest = 40, kShortestBeginning = 3;
  if (word.empty() || word.size() > kLongest) return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    if (name.size() > kLongest) continue;
    // Rows of the edit distance; two neighbours swapped count as one edit.
    std::vector<std::size_t> older, old(name.size() + 1), row(name.size() + 1);
    for (std::size_t j = 0; j <= name.size(); ++j) old[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= name.size(); ++j) {
        row[j] = std::min({old[j] + 1, row[j - 1] + 1, old[j - 1] + (word[i - 1] == name[j - 1] ? 0u : 1u)});
        if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1])
          row[j] = std::min(row[j], older[j - 2] + 1);
      }
      older = old;
      old = row;
    }
    const std::size_t distance = lower_case(word) == lower_case(name) ? 0 : old[name.size()];
    // A name that shares no character with the word is not near.
    if (distance < best_distance && distance < std::max(word.size(), name.size())) {
      best_distance = distance;
      best = name;
    }
  }
  if (!best.empty() || word.size() < kShortestBeginning) return best;
  const auto begins = [&](const std::string& name) { return name.starts_with(word); };
  return std::ranges::count_if(names, begins) == 1 ? *std::ranges::find_if(names, begins) : "";
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names,
                       const std::string& prefix) {
  const std::string name = nearest(word, names);
  return name.empty() ? "" : "did you mean `" + prefix + name + "`?";
}

Diagnostic diagnostic_at(const Place& place, std::string what, const std::string& hint,
                         std::vector<std::string> notes, std::string help) {
  Diagnostic diagnostic{.what = std::move(what),
                        .place = place.text(),
                        .excerpt = place.excerpt(hint),
                        .notes = std::move(notes),
                        .help = std::move(help)};
  if (diagnostic.excerpt.empty() && !hint.empty())
    diagnostic.help = diagnostic.help.empty() ? hint : hint + " " + diagnostic.help;
  return diagnostic;
}

void Mistakes::add(const Place& place, std::string what, const std::string& hint,
                   std::vector<std::string> notes, std::string help) {
  // A block that is used many times brings its mistake once.
  for (const Mistake& known : found_)
    if (known.place.source == place.source && known.place.offset == place.offset &&
        known.diagnostic.what == what)
      return;
  if (found_.size() == kMaxMistakes) {
    ++left_out_;
    return;
  }
  found_.push_back({place, diagnostic_at(place, std::move(what), hint, std::move(notes), std::move(help))});
}

void Mistakes::raise() {
  if (found_.empty()) return;
  std::vector<const SourceText*> sources;
  for (const Mistake& mistake : found_)
    if (std::find(sources.begin(), sources.end(), mistake.place.source) == sources.end())
      sources.push_back(mistake.place.source);
  const auto rank = [&](const Mistake& m) {
    return std::find(sources.begin(), sources.end(), m.place.source) - sources.begin();
  };
  std::stable_sort(found_.begin(), found_.end(), [&](const Mistake& a, const Mistake& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.place.before(b.place);
  });
  std::vector<Diagnostic> all;
  for (Mistake& mistake : found_) all.push_back(std::move(mistake.diagnostic));
  if (left_out_ > 0) all.back().notes.push_back("and " + std::to_string(left_out_) + " more mistakes");
  found_.clear();
  throw Error(ExitCode::usage, std::move(all));
}

}  // namespace trainer
