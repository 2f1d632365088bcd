#include "datasets/readers/image_list_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>

#include "datasets/readers/column_types.h"
#include "datasets/readers/csv_layout.h"
#include "datasets/readers/csv_text.h"
#include "datasets/readers/text_file.h"
#include "engine/config/source.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::size_t kMaxClasses = 1 << 20;

/// A table's first line names columns.
bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

/// Adds images to a list and encodes their labels.
class ListWriter {
 public:
  ListWriter(ImageListFile& list, const std::vector<std::string>& expected) : list_(list) {
    for (const std::string& name : expected) code_of(name);
    is_closed_ = !expected.empty();
  }

  [[noreturn]] void fail(const std::string& what, const std::string& note) const {
    fail_at(list_.path, line_, what, note);
  }
  /// Starts the image of a line.
  void begin(std::int64_t line, std::string_view name) {
    line_ = line;
    name = without_spaces(name);
    if (name.empty() || name.find('\0') != std::string_view::npos)
      fail("no path of an image", in_quotes(name));
    list_.names += name;
    list_.name_ends.push_back(list_.names.size());
    list_.lines.push_back(line);
  }
  void label(std::string_view name) {
    name = without_spaces(name);
    if (name.empty()) fail("a label is missing", "give each image a label, or remove its line");
    add(code_of(std::string(name)));
  }
  void add(std::int32_t label) {
    const std::size_t begin = list_.label_ends.empty() ? 0 : list_.label_ends.back();
    if (std::find(list_.labels.begin() + static_cast<std::ptrdiff_t>(begin), list_.labels.end(), label) !=
        list_.labels.end())
      fail("a label is listed twice", in_quotes(list_.classes[label]));
    list_.labels.push_back(label);
  }
  void end() { list_.label_ends.push_back(list_.labels.size()); }
  /// Puts classes into their order: integers by value, else texts by their bytes.
  void sort_classes() {
    if (is_closed_) return;
    std::vector<std::string> ordered =
        in_order(std::set<std::string>(list_.classes.begin(), list_.classes.end()));
    std::unordered_map<std::string, std::int32_t> place;
    for (const std::string& name : ordered) place.emplace(name, static_cast<std::int32_t>(place.size()));
    for (std::int32_t& label : list_.labels) label = place.at(list_.classes[label]);
    list_.classes = std::move(ordered);
  }

 private:
  std::int32_t code_of(const std::string& name) {
    const auto [entry, is_new] = codes_.emplace(name, static_cast<std::int32_t>(codes_.size()));
    if (!is_new) return entry->second;
    if (is_closed_)
      fail("a class that training lacks",
           fmt::format("{} is none of the {} classes there", in_quotes(name), list_.classes.size()));
    if (list_.classes.size() == kMaxClasses)
      fail("too many classes", fmt::format("more than {}", kMaxClasses));
    list_.classes.push_back(name);
    return entry->second;
  }

  ImageListFile& list_;
  std::unordered_map<std::string, std::int32_t> codes_;
  bool is_closed_ = false;  ///< no class may be added
  std::int64_t line_ = 0;
};

/// True, false, or nothing of these for a field of a class's column.
std::optional<bool> flag_of(std::string_view text) {
  double number = 0;
  if (parse_number(text, number) && (number == 0 || number == 1)) return number == 1;
  text = without_spaces(text);
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

void add_flag(const std::optional<bool>& flag, const std::string& name, std::string_view text,
              std::int32_t label, ListWriter& writer) {
  if (!flag) writer.fail("the label " + in_quotes(name) + " requires 0 or 1", "got " + in_quotes(text));
  if (*flag) writer.add(label);
}

void read_csv_list(std::string_view text, const ImageListForm& form, ImageListFile& list,
                   ListWriter& writer) {
  const CsvLayout layout = csv_layout(list.path, text, std::nullopt, 1);
  CsvText csv(list.path, text, layout.separator);
  std::vector<std::string> names;
  std::string header;
  if (!csv.at_end())
    for (const std::string& name : csv.next()) {
      names.emplace_back(without_spaces(name));
      header += (names.size() == 1 ? "" : ", ") + names.back();
    }
  const auto column = [&](const std::string& name) {
    const auto count = std::ranges::count(names, name);
    if (count != 1)
      fail_at(list.path, 1,
              fmt::format("{} columns have the name {}", count == 0 ? "no" : "several", in_quotes(name)),
              "the first line names " + in_quotes(header));
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  };
  const std::size_t file = column(form.file);
  std::vector<std::size_t> labels;
  for (const std::string& name : form.labels) labels.push_back(column(name));
  while (!csv.at_end()) {
    const std::vector<std::string>& fields = csv.next();
    if (fields.size() == 1 && without_spaces(fields[0]).empty()) continue;
    if (fields.size() != names.size())
      fail_at(list.path, csv.line(), fmt::format("{} fields in a line", fields.size()),
              fmt::format("the first line has {}", names.size()));
    writer.begin(csv.line(), fields[file]);
    if (labels.size() > 1) {
      for (std::size_t k = 0; k < labels.size(); ++k)
        add_flag(flag_of(fields[labels[k]]), form.labels[k], fields[labels[k]], static_cast<std::int32_t>(k),
                 writer);
    } else if (form.label_separator.empty()) {
      writer.label(fields[labels[0]]);
    } else {
      std::string_view rest = without_spaces(fields[labels[0]]);
      while (!rest.empty()) {
        const std::size_t end = std::min(rest.find(form.label_separator), rest.size());
        writer.label(rest.substr(0, end));
        rest.remove_prefix(std::min(end + form.label_separator.size(), rest.size()));
      }
    }
    writer.end();
  }
}

using Json = nlohmann::json;

/// A label as text; empty if it is missing.
std::string label_text(const Json& json, const ListWriter& writer) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_null()) return "";
  if (json.is_number_float()) {
    const double number = json.get<double>();
    const std::string integer = number == std::trunc(number) ? fmt::format(" or {:.0f}", number) : "";
    writer.fail(fmt::format("the label {} is neither a text nor a whole number", json.dump()),
                fmt::format("write \"{}\"{}", json.dump(), integer));
  }
  if (json.is_structured())
    writer.fail(std::string("a label of the type ") + json.type_name(),
                R"(a label is a text, such as "cat", a whole number, true or false)");
  return json.dump();
}

/// 0 or 1 of a class's key as text; another value as its type.
std::string flag_text(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.is_primitive() ? json.dump() : json.type_name();
}

void read_json_list(std::string_view text, const ImageListForm& form, ImageListFile& list,
                    ListWriter& writer) {
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view record = without_spaces(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (record.empty() || record == "\r") continue;
    const auto fail = [&](const std::string& what, const std::string& note) {
      fail_at(list.path, line, what, note);
    };
    const Json json = Json::parse(record, nullptr, false);
    if (!json.is_object()) fail("no JSON object", R"(a line is such as {"file": "a.png", "label": "cat"})");
    const auto member = [&](const std::string& key) -> const Json& {
      if (!json.contains(key)) fail("the object has no key " + in_quotes(key), "each line has it");
      return json[key];
    };
    const Json& file = member(form.file);
    if (!file.is_string())
      fail("the path of an image is no text", std::string("it is of the type ") + file.type_name());
    writer.begin(line, file.get_ref<const std::string&>());
    if (form.labels.size() > 1) {
      for (std::size_t k = 0; k < form.labels.size(); ++k) {
        const std::string flag = flag_text(member(form.labels[k]));
        add_flag(flag_of(flag), form.labels[k], flag, static_cast<std::int32_t>(k), writer);
      }
    } else {
      const Json& labels = member(form.labels[0]);
      if (list.size() == 1) list.has_several_labels = labels.is_array();
      if (list.has_several_labels != labels.is_array())
        fail("lists of labels beside single labels", "a list in each line, or in none");
      if (labels.is_array())
        for (const Json& label : labels) writer.label(label_text(label, writer));
      else
        writer.label(label_text(labels, writer));
    }
    writer.end();
  }
}

}  // namespace

std::string ImageListFile::image(std::int64_t index) const {
  const std::size_t begin = index == 0 ? 0 : name_ends[index - 1];
  const std::filesystem::path name = names.substr(begin, name_ends[index] - begin);
  return (std::filesystem::path(path).parent_path() / name).string();
}

ImageListFile read_image_list(const std::string& path, const ImageListForm& form,
                              const std::vector<std::string>& expected) {
  ByteReader file(path);
  ImageListFile list{.path = path};
  const std::string content = content_of(file);
  std::string_view text = content;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  list.has_several_labels = form.labels.size() > 1 || !form.label_separator.empty();
  const std::vector<std::string>& known = form.labels.size() > 1 ? form.labels : expected;
  ListWriter writer(list, known);
  if (is_json(text))
    read_json_list(text, form, list, writer);
  else
    read_csv_list(text, form, list, writer);
  if (list.size() == 0)
    throw Error(ExitCode::data, {Diagnostic{.what = "the list has no image", .place = path}});
  writer.sort_classes();
  list.fingerprint = file.fingerprint();
  return list;
}

}  // namespace trainer
