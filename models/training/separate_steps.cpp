#include "models/training/separate_steps.h"

#include <fmt/format.h>

#include "engine/config/registry.h"
#include "models/optimizers/optimizer.h"

namespace trainer {

LocalSettings local_settings(const Config& train, const TrainSettings& settings) {
  const Config local = train.at("local");
  const LocalSettings result{.steps = local.get<std::int64_t>("steps"),
                             .virtual_workers = local.get<int>("virtual_workers"),
                             .averages_states = local.get<std::string>("optimizer_states") == "average"};
  if (settings.batch < result.virtual_workers)
    local.fail("virtual_workers",
               fmt::format("a batch of {} samples is too small for {} virtual workers", settings.batch,
                           result.virtual_workers),
               "a larger train.batch, which is the batch of all virtual workers together, or fewer of them");
  // The configuration that a run keeps holds the default, too.
  if (settings.virtual_workers != kVirtualWorkers && settings.virtual_workers != result.virtual_workers)
    train.fail("virtual_workers", "train.local has virtual workers of its own",
               "remove train.virtual_workers; local.virtual_workers counts those of a local run");
  if (settings.accumulate > 1 || settings.memory_limit)
    train.fail("accumulate", "virtual workers of train.local compute their shares of a batch at once",
               "remove accumulate, or take more local.virtual_workers: each has a smaller share");
  if (settings.measures_balance)
    train.fail("balance", "each virtual worker of train.local takes an equal share of a batch",
               "balance: equal, or remove local");
  if (settings.crosscheck > 0)
    train.fail("crosscheck", "ranks of a local run do not compute the same step, so none can check another",
               "remove crosscheck or local");
  if (settings.chain)
    train.fail("chain", "the chain records steps of all ranks together, and train.local has none",
               "remove chain or local");
  if (settings.ema > 0)
    train.fail("ema", "the average is over the weights of every step, and train.local has them once a round",
               "remove ema or local");
  if (settings.logs_gradients)
    train.at("log").fail("gradients", "virtual workers of train.local have gradients of their own",
                         "remove log.gradients or local");
  if (settings.compression.method == Compression::Method::powersgd)
    train.fail("compression", "factors of powersgd follow the gradients of ranks, and train.local has none",
               "compression: one_bit, or bf16");
  // The configuration that a run keeps holds the default, too; 0 is what rounds do.
  if (const float momentum = settings.compression.momentum;
      momentum != 0 && momentum != Compression::kDefaultMomentum)
    train.at("compression")
        .fail("momentum", "rounds of train.local have no momentum of what they send",
              "remove momentum; a momentum between rounds is local: {outer: nesterov}");
  return result;
}

AsyncSettings async_settings(const Config& train, const TrainSettings& settings) {
  const auto refuse = [&](std::string_view key, const std::string& what) {
    train.fail(key, what, fmt::format("remove {} or async", key));
  };
  if (settings.exact)
    refuse("exact",
           "updates of train.async come in the order in which ranks end, which no other run repeats");
  if (train.has("local"))
    refuse("local", "virtual workers of train.local take turns in rounds, and train.async has none");
  if (settings.accumulate > 1 || settings.memory_limit)
    train.fail("accumulate", "a rank of train.async computes its share of a batch at once",
               "remove accumulate; more ranks have smaller shares");
  if (settings.measures_balance)
    train.fail("balance", "a rank of train.async takes the next share when it is free",
               "balance: equal, or remove async");
  if (settings.ema > 0)
    refuse("ema", "the average is over the weights of every step, and train.async has no steps of all ranks");
  if (settings.logs_gradients)
    train.at("log").fail("gradients", "ranks of train.async have gradients of their own",
                         "remove log.gradients or async");
  if (settings.compression.method != Compression::Method::none)
    refuse("compression", "train.async sends gradients to one rank at a time, as float32");
  if (Registry<Optimizer>::make(train.at("optimizer"))->requires_norms())
    train.fail("optimizer",
               train.at("optimizer").type() +
                   " needs norms of whole layers, and train.async updates shards of them by themselves",
               "sgd or adamw, for example, or remove async");
  return {.staleness = train.at("async").get<std::int64_t>("staleness")};
}

}  // namespace trainer
