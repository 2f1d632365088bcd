#include "datasets/loading/missing_data.h"

#include <algorithm>

#include "engine/config/source.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// The name in a folder that the last name of `path` was meant to be, as a path; empty if none is near.
std::string nearest_path(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code ignored;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored))
    names.push_back(entry->path().filename().string());
  std::ranges::sort(names);
  const std::string name = nearest(path.filename().string(), names);
  return name.empty() ? "" : (path.parent_path() / name).string();
}

bool has_folders(const fs::path& path) {
  std::error_code ignored;
  for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored))
    if (entry->is_directory(ignored)) return true;
  return false;
}

}  // namespace

void explain_missing(const fs::path& path, const std::vector<std::string>& looked_for, Diagnostic& problem) {
  constexpr std::string_view kGzip = "[.gz]", kClasses = "/CLASS/";
  std::error_code ignored;
  std::string meant;
  if (fs::is_regular_file(path, ignored)) {
    problem.notes.push_back(in_quotes(path.string()) + " is a file, not a directory");
  } else if (path.string().starts_with("~")) {
    problem.notes.push_back("`~` is not expanded here");
    problem.help = "${HOME} is yours: -s 'data.path=${HOME}" + path.string().substr(1) + "'";
  } else if (!path.empty() && !fs::is_directory(path, ignored)) {
    problem.notes.push_back("there is no directory " + in_quotes(path.string()));
    meant = nearest_path(path);
  } else if (looked_for.front().find(kClasses) != std::string::npos) {
    const fs::path inside = looked_for.front().substr(0, looked_for.front().find(kClasses));
    if (path.filename() == inside.filename() && path.has_parent_path())
      meant = path.parent_path().string();
    else if (!fs::exists(inside, ignored) && has_folders(path))
      problem.help = "`train: .` in image_folder, if the folders in " + in_quotes(path.string()) +
                     " are the classes; else " + problem.help;
  } else if (looked_for.front().ends_with(kGzip)) {
    const bool is_pattern = looked_for.front().find_first_of("*?") != std::string::npos;
    if (path.empty() && !is_pattern)
      problem.notes.emplace_back("in the working directory, $TRAINER_DATA, ~/.cache/trainer and ./datasets");
    meant = nearest_path(looked_for.front().substr(0, looked_for.front().size() - kGzip.size()));
  }
  if (!meant.empty()) problem.help = "did you mean " + in_quotes(meant) + "? Else " + problem.help;
}

}  // namespace trainer
