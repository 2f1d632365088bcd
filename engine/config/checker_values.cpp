#include <algorithm>
#include <stdexcept>

#include "engine/config/checker.h"
#include "engine/config/environment.h"
#include "engine/config/scalar.h"

// The half of the checker that reads values: words, numbers, lists of numbers, durations.
namespace trainer {

bool Checker::check_word(const Setting& setting, const Node& node, ConfigNode& out) {
  const bool word = node.is_scalar() && std::find(setting.choices.begin(), setting.choices.end(),
                                                  node.text) != setting.choices.end();
  if (word) out.value = node.text;
  return word;
}

void Checker::check_scalar(const Setting& setting, const Node& node, ConfigNode& out) {
  Misread misread;
  std::string range, share;
  switch (setting.kind) {
    case Setting::Kind::boolean: {
      bool value = false;
      misread = read_boolean(node, value);
      out.value = value;
      break;
    }
    case Setting::Kind::integer: {
      std::int64_t value = 0;
      misread = read_integer(node, value);
      if (!misread) range = out_of_range(setting, static_cast<double>(value), std::to_string(value));
      out.value = value;
      break;
    }
    case Setting::Kind::real: {
      double value = 0;
      misread = read_real(node, value);
      if (!misread) range = out_of_range(setting, value, number_text(value));
      if (setting.minimum == 0 && setting.maximum == 1 && value > 1 && value < 100)
        share = "a share of 1: " + number_text(value) + " % is " + number_text(value / 100);
      out.value = value;
      break;
    }
    case Setting::Kind::text:
      if (!node.is_scalar()) misread.what = "expects a text, got " + node.form_name();
      out.value = node.text;
      break;
    case Setting::Kind::choice:
      if (!node.is_scalar())
        misread.what = "expects " + form_words(setting) + ", got " + node.form_name();
      else if (!check_word(setting, node, out))
        misread = {"must be " + form_words(setting) + ", got " + in_quotes(node.text),
                   meaning_of("value", node.text, setting.choices).hint};
      break;
    default:
      throw std::logic_error("not a scalar setting: " + setting.name);
  }
  if (misread) {
    std::vector<std::string> notes;
    if (!setting.choices.empty() && setting.kind != Setting::Kind::choice) {
      if (misread.hint.empty()) misread.hint = meaning_of("value", node.text, setting.choices).hint;
      notes.push_back("it expects " + form_words(setting));
    }
    if (std::string note = value_note(node); !note.empty()) notes.push_back(std::move(note));
    mistakes_.add(node.place, subject(out) + " " + misread.what, misread.hint, notes);
  } else if (!range.empty()) {
    mistakes_.add(node.place, subject(out) + " " + range, share);
  }
}

bool Checker::read_count(const Setting& setting, const Node& node, const ConfigNode& out,
                         std::int64_t& value) {
  Misread misread = read_integer(node, value);
  if (misread && node.is_scalar() && misread.hint.empty())
    misread.hint = meaning_of("value", node.text, setting.choices).hint;
  if (!misread) misread.what = out_of_range(setting, static_cast<double>(value), std::to_string(value));
  std::vector<std::string> notes;
  if (misread && !setting.choices.empty()) notes.push_back("it expects " + form_words(setting));
  if (misread) mistakes_.add(node.place, subject(out) + " " + misread.what, misread.hint, notes);
  return !misread;
}

bool Checker::read_counts(const Setting& setting, Written list, const ConfigNode& out,
                          std::vector<std::int64_t>& values) {
  bool waits = false;
  std::int64_t value = 0;
  for (const Node& item : list.node->items) {
    const Expansion::Resolved resolved = expansion_.resolve({&item, list.scope});
    if (resolved.value.node == nullptr) continue;
    if (!resolved.awaited.empty())
      waits = true;
    else if (read_count(setting, *resolved.value.node, out, value))
      values.push_back(value);
  }
  return waits;
}

void Checker::check_integers(const Setting& setting, Written value, ConfigNode& out) {
  std::vector<std::int64_t> numbers;
  std::int64_t number = 0;
  bool waits = false;
  const Node& node = *value.node;
  if (node.is_list()) {
    if (setting.count > 0 && node.items.size() != static_cast<std::size_t>(setting.count)) {
      mistakes_.add(node.place, subject(out) + " expects " + std::to_string(setting.count) +
                                    " numbers, got " + std::to_string(node.items.size()));
      return;
    }
    waits = read_counts(setting, value, out, numbers);
  } else if (read_count(setting, node, out, number)) {
    numbers.assign(static_cast<std::size_t>(std::max(1, setting.count)), number);
  }
  if (waits)
    out.awaited = value;
  else
    out.value = std::move(numbers);
}

void Checker::check_duration(const Setting& setting, Written value, ConfigNode& out) {
  const Node& node = *value.node;
  const bool several = setting.kind == Setting::Kind::durations;
  const std::vector<std::string> units{"epochs", "steps"};
  if (!node.is_map() || node.entries.size() != 1) {
    std::int64_t count = 0;
    const bool is_number = node.is_scalar() && !read_integer(node, count);
    mistakes_.add(node.place,
                  subject(out) + " expects " + form_words(setting) + ", got " +
                      (node.is_map() ? std::to_string(node.entries.size()) + " keys"
                       : is_number   ? in_quotes(node.text)
                                     : node.form_name()),
                  is_number ? "write `{epochs: " + node.text + "}` or `{steps: " + node.text + "}`" : "");
    return;
  }
  const NodeEntry& entry = node.entries[0];
  if (entry.key != "epochs" && entry.key != "steps") {
    mistakes_.add(entry.key_place, "unknown key " + in_quotes(entry.key) + " in " + out.key,
                  meaning_of("key", entry.key, units).hint, {out.key + " takes " + form_words(setting)});
    return;
  }
  const Expansion::Resolved inner = expansion_.resolve({&entry.value, value.scope});
  if (inner.value.node == nullptr) return;
  if (!inner.awaited.empty()) {
    out.awaited = value;
    return;
  }
  Setting counted = setting;
  if (!counted.minimum) counted.at_least(0);
  if (!counted.maximum) counted.at_most(entry.key == "epochs" ? kMaxEpochs : kMaxSteps);
  counted.choices.clear();
  std::vector<std::int64_t> counts;
  std::int64_t count = 0;
  bool waits = false;
  if (several && inner.value.node->is_list())
    waits = read_counts(counted, inner.value, out, counts);
  else if (read_count(counted, *inner.value.node, out, count))
    counts.push_back(count);
  std::vector<Duration> durations;
  for (const std::int64_t one : counts) durations.push_back({entry.key == "epochs", one});
  if (waits)
    out.awaited = value;
  else if (several)
    out.value = std::move(durations);
  else if (!durations.empty())
    out.value = durations[0];
}

}  // namespace trainer
