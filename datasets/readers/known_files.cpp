#include "datasets/readers/known_files.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "engine/config/source.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

std::string joined(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

std::vector<std::string> usual_directories() {
  std::vector<std::string> directories;
  const char* const data = std::getenv("TRAINER_DATA");
  if (data != nullptr && *data != '\0') directories.emplace_back(data);
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') directories.push_back(joined(home, ".cache/trainer"));
  directories.emplace_back("datasets");
  return directories;
}

}  // namespace

std::string existing_file(const std::string& path) {
  for (const std::string& candidate : {path, path + ".gz"}) {
    std::error_code ignored;  // a directory that cannot be entered counts as absent
    if (std::filesystem::exists(candidate, ignored)) return candidate;
  }
  return "";
}

std::vector<std::string> matching_files(const std::vector<std::string>& names) {
  std::vector<std::string> files;
  for (const std::string& name : names) {
    glob_t found{};
    if (existing_file(name).empty() && ::glob(name.c_str(), 0, nullptr, &found) == 0)
      files.insert(files.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    else
      files.push_back(existing_file(name).empty() ? name : existing_file(name));
    ::globfree(&found);
  }
  return files;
}

std::string directory_of(const std::string& set, const std::string& file, const std::string& data_path) {
  if (data_path.empty() && !existing_file(file).empty()) return "";
  const KnownFiles known(set, {file}, data_path);
  return known.missing() ? data_path : known.directory();
}

std::string path_of_file(const std::string& set, const std::string& file, const std::string& data_path) {
  return joined(directory_of(set, file, data_path), file);
}

KnownFiles::KnownFiles(std::string set, std::vector<std::string> files, const std::string& data_path,
                       Where where)
    : set_(std::move(set)), files_(std::move(files)) {
  for (const std::string& directory :
       data_path.empty() ? usual_directories() : std::vector<std::string>{data_path}) {
    if (where == Where::either) directories_.push_back(directory);
    directories_.push_back(joined(directory, set_));
    if (where == Where::own_folder && !data_path.empty()) directories_.push_back(directory);
  }
  const auto holds_a_file = [&](const std::string& directory) {
    return std::any_of(files_.begin(), files_.end(), [&](const std::string& file) {
      return !existing_file(joined(directory, file)).empty();
    });
  };
  const auto found = std::find_if(directories_.begin(), directories_.end(), holds_a_file);
  if (found != directories_.end()) directory_ = *found;
}

std::string KnownFiles::looked_for() const {
  return fmt::format("{}[.gz] in {}", files_.front(), listed(directories_, "or"));
}

std::string KnownFiles::find(const std::string& file) const {
  return existing_file(joined(directory_, file));
}

std::string KnownFiles::require(const std::string& file) const {
  const std::string path = find(file);
  if (path.empty())
    throw Error(ExitCode::data,
                {Diagnostic{.what = fmt::format("{} is not complete: {}[.gz] is missing", set_, file),
                            .place = directory_,
                            .notes = {fmt::format("the dataset is {}, plain or .gz, in one directory",
                                                  listed(files_))}}});
  return path;
}

}  // namespace trainer
