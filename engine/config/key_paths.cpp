#include "engine/config/key_paths.h"

#include <fmt/format.h>

#include "engine/config/declared.h"

namespace trainer {
namespace {

void add_paths(const Setting& setting, const std::string& path, std::vector<std::string>& paths) {
  switch (setting.kind) {
    case Setting::Kind::section:
      if (!setting.choices.empty() || has_any_keys(setting)) paths.push_back(path);
      if (has_any_keys(setting)) return;
      for (const Setting& one : setting.nested) add_paths(one, path + "." + one.name, paths);
      return;
    case Setting::Kind::either:
      paths.push_back(path);
      for (const Setting& one : setting.nested)
        if (one.kind == Setting::Kind::section) add_paths(one, path, paths);
      return;
    case Setting::Kind::family:
      paths.push_back(path);
      if (setting.family_name == kLayerFamily) return;
      for (const auto& [name, member] : Catalog::all().at(setting.family_name).members)
        for (const Setting& one : member.settings) {
          const std::string below = fmt::format("{}.{}.{}", path, name, one.name);
          // A family within itself has no end.
          if (one.kind == Setting::Kind::family && one.family_name == setting.family_name)
            paths.push_back(below);
          else
            add_paths(one, below, paths);
        }
      return;
    case Setting::Kind::list: {
      const bool has_keys = setting.nested.at(0).kind == Setting::Kind::family;
      paths.push_back(has_keys ? path + "[" : path);
      return;
    }
    case Setting::Kind::duration:
    case Setting::Kind::durations:
      for (const char* unit : {".epochs", ".steps"}) paths.push_back(path + unit);
      return;
    default:
      paths.push_back(path);
  }
}

}  // namespace

std::vector<std::string> key_paths(const std::vector<Setting>& root) {
  std::vector<std::string> paths;
  for (const Setting& setting : root) add_paths(setting, setting.name, paths);
  return paths;
}

}  // namespace trainer
