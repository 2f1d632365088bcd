#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "datasets/fetching/public_set.h"

namespace trainer {

/// $TRAINER_DATA, else ~/.cache/trainer, else ./datasets: the first directory where datasets are looked for.
std::filesystem::path data_directory();

/// What happens to a file while a set is fetched.
struct FetchEvent {
  enum class Kind { arriving, fetched, present, failed_mirror } kind;
  const PublicFile& file;
  std::int64_t bytes = 0;        ///< that have arrived
  std::string_view reason = {};  ///< of failed_mirror, with the URL
};

/// Downloads the files of a set that `folder` lacks, checks their size and SHA-256, and unpacks archives. A
/// file appears under its name when it is whole. A download that was cut continues where it ended.
/// Error(data) if no URL offers the right bytes; Error(usage) if the program was built without libcurl, or
/// another process fetches into the folder.
void fetch(const PublicSet& set, const std::filesystem::path& folder,
           const std::function<void(const FetchEvent&)>& report);

}  // namespace trainer
