#pragma once

#include <filesystem>
#include <string>

#include "datasets/dataset.h"

namespace trainer {

/// What pack_set() wrote.
struct PackedSplit {
  std::int64_t samples = 0, shards = 0, bytes = 0;
};
struct PackedSet {
  PackedSplit train, test;
  std::string config;  ///< the `data:` section that reads the set, in a line
};

/// Writes the samples of a dataset as tar shards of about `shard_bytes`, with indexes, names of classes and
/// SHA256SUMS, into the new directory `out`. The directory appears whole or not at all. Error(usage) if it
/// exists, or if shards cannot hold the samples.
PackedSet pack_set(DataSource source, const std::filesystem::path& out, std::uint64_t shard_bytes);

}  // namespace trainer
