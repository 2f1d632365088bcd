#include "models/training/sharding_check.h"

#include <string>

namespace trainer {

void check_sharding(const Config& train, const TrainSettings& settings, Sharding sharding, int model_ranks) {
  if (sharding == Sharding::state) return;
  const std::string flag = std::string("--shard ") + name_of(sharding);
  if (model_ranks > 1)
    throw Error(ExitCode::ranks, flag + " shards over data ranks, and --modelpar and --mesh over model ranks",
                "--datapar " + flag + ", or --mesh without --shard");
  const auto fail = [&](std::string_view key, const std::string& why, const std::string& help) {
    throw Error(ExitCode::ranks,
                {train.diagnostic(
                    key, flag + " and train." + std::string(key) + " exclude each other: " + why, help)});
  };
  if (settings.local)
    fail("local", "each virtual worker has whole parameters", "without --shard, or -s train.local=~");
  if (settings.async)
    fail("async", "each rank computes with whole parameters", "without --shard, or -s train.async=~");
  if (settings.crosscheck > 0)
    fail("crosscheck", "it compares whole gradients", "without --shard, or -s train.crosscheck=~");
  if (settings.measures_balance)
    fail("balance", "each rank measures whole steps by itself, with all parameters and gradients",
         "without --shard, or -s train.balance=equal");
  if (settings.compression.has_feedback())
    fail("compression", settings.compression.text() + " keeps all gradients on each rank",
         "without --shard, or -s train.compression=~");
  if (settings.compression.is_bf16() && sharding == Sharding::parameters)
    fail("compression", "bf16 sends changes of parameters that each rank has",
         "--shard gradients, or -s train.compression=~");
}

}  // namespace trainer
