#include "models/training/settings.h"

#include <fmt/format.h>

#include "datasets/loading/data.h"
#include "engine/core/virtual_workers.h"

namespace trainer {
namespace {

Cadence cadence(const Config& train, std::string_view key) {
  using Kind = Cadence::Kind;
  if (train.is_word(key, "epoch")) return {};
  if (train.is_word(key, "end")) return {.kind = Kind::end};
  if (train.is_word(key, "never")) return {.kind = Kind::never};
  const Config map = train.at(key);
  Cadence cadence;
  int said = 0;
  const auto read = [&](std::string_view unit, const auto& take) {
    if (!map.has(unit)) return;
    if (said++ > 0)
      map.fail(unit, "how often is said in two ways",
               fmt::format("only one of them; -s 'train.{}={{{}: ...}}' replaces all of it", key, unit));
    take();
  };
  read("steps", [&] { cadence = {.kind = Kind::steps, .count = map.get<std::int64_t>("steps")}; });
  if (key != "guards")
    read("epochs", [&] { cadence = {.kind = Kind::epochs, .count = map.get<std::int64_t>("epochs")}; });
  if (key == "checkpoint")
    read("minutes", [&] { cadence = {.kind = Kind::minutes, .minutes = map.get<double>("minutes")}; });
  return cadence;
}

Setting every_steps() {
  return integer("steps", "after every so many steps").at_least(1).at_most(kMostSteps).optional();
}
Setting every_epochs() {
  return integer("epochs", "after every so many epochs").at_least(1).at_most(kMostEpochs).optional();
}

}  // namespace

bool Cadence::due(std::int64_t done, std::int64_t steps_per_epoch, std::int64_t total) const {
  if (kind == Kind::never) return false;
  if (done == total) return true;
  switch (kind) {
    case Kind::epochs:
      return done > 0 && done % (count * steps_per_epoch) == 0;
    case Kind::steps:
      return done > 0 && done % count == 0;
    default:
      return false;
  }
}

TrainSettings train_settings(const Config& train) {
  TrainSettings settings{.batch = train.get<std::int64_t>("batch"),
                         .accumulate = train.get<std::int64_t>("accumulate"),
                         .seed = static_cast<std::uint64_t>(train.get<std::int64_t>("seed")),
                         .log_every = train.get<std::int64_t>("log_every"),
                         .stall_timeout = train.get<std::int64_t>("stall_timeout"),
                         .evaluate = cadence(train, "evaluate"),
                         .checkpoint = cadence(train, "checkpoint"),
                         .guards = cadence(train, "guards"),
                         .blocks = train.get<int>("blocks")};
  if (!train.is_word("checkpoint", "epoch") && !train.is_word("checkpoint", "never"))
    settings.keep = train.at("checkpoint").get<std::int64_t>("keep");
  if (train.has("epochs")) settings.epochs = train.get<std::int64_t>("epochs");
  if (train.has("steps")) settings.steps = train.get<std::int64_t>("steps");
  if (settings.batch % settings.accumulate != 0)
    train.fail("accumulate", fmt::format("a batch of {} cannot be cut into {} equal parts", settings.batch,
                                         settings.accumulate));
  if (train.has("clip_norm")) settings.clip_norm = train.get<double>("clip_norm");
  if (train.has("clip_value")) settings.clip_value = train.get<double>("clip_value");
  if (train.has("average")) settings.average = train.get<float>("average");
  if (train.has("exact")) {
    const Config exact = train.at("exact");
    settings.exact = exact.type() == "settings" || exact.value<bool>();
    settings.exact_modelpar = settings.exact && (exact.type() != "settings" || exact.get<bool>("modelpar"));
  }
  if (train.has("crosscheck")) {
    settings.crosscheck = train.get<std::int64_t>("crosscheck");
    if (!settings.exact)
      train.fail("crosscheck", "crosscheck compares bits, which only exact mode has alike",
                 "train.exact: true, or no crosscheck");
  }
  if (train.has("warmup")) settings.warmup = train.get<Duration>("warmup");
  return settings;
}

void check_ranks(const Config& train, const TrainSettings& settings, int data_ranks, int model_ranks) {
  const auto fail = [&](std::string_view key, const std::string& what, const std::string& help) {
    throw Error(ExitCode::ranks, {train.diagnostic(key, what, help)});
  };
  if (settings.part() < data_ranks)
    fail("batch",
         (settings.accumulate > 1 ? "a part of " : "a batch of ") + std::to_string(settings.part()) +
             " cannot be cut over " + std::to_string(data_ranks) + " data ranks",
         "train.batch counts the samples of the whole run; fewer ranks, or a larger batch");
  if (settings.exact && settings.blocks < data_ranks)
    fail("blocks",
         "exact mode deals " + std::to_string(settings.blocks) + " blocks to " + std::to_string(data_ranks) +
             " data ranks",
         "a larger train.blocks (another number gives other bits), or fewer ranks");
  if (settings.exact && !settings.exact_modelpar && model_ranks > 1)
    fail("exact", "exact mode without modelpar cannot cut layers over ranks",
         "train.exact: true, or --datapar");
}

std::vector<Setting> run_settings() {
  return {
      section("data", "what the network learns from", data_settings()),
      section("model", "the network and what it is to make small",
              {list_of("layers", "the layers, first to last; the input comes from the data",
                       family("", "a layer", "layer")),
               family("loss", "what training makes small", "loss"),
               section("weights",
                       "a file of weights to begin with, as a checkpoint holds them; --init goes before it",
                       {text("file", "model.safetensors of a run's checkpoint, or any such file"),
                        list_of("except",
                                "layers that begin by their `init`, such as a last one for other classes",
                                text("", "a layer's name"))
                            .fallback("[]")})
                   .optional()}),
      section(
          "train", "how long, how fast and with what it learns",
          {integer("epochs", "passes over the training samples; 0 writes the initial weights")
               .at_least(0)
               .at_most(kMostEpochs)
               .optional()
               .changeable()
               .exclusive_with("steps"),
           integer("steps", "number of updates, over as many epochs as they need")
               .at_least(0)
               .at_most(kMostSteps)
               .optional()
               .changeable()
               .exclusive_with("epochs"),
           integer("batch", "samples of one update, of all processes together")
               .at_least(1)
               .at_most(kMostSamples),
           integer(
               "accumulate",
               "the batch is computed in so many parts, one after the other: less memory, the same gradient; "
               "batch_norm sees one part at a time")
               .at_least(1)
               .at_most(kMostSamples)
               .fallback("1"),
           family("optimizer", "how parameters follow their gradients", "optimizer"),
           family("schedule", "how the learning rate changes", "schedule").fallback("constant"),
           duration("warmup", "how long the learning rate rises from 0 at the start").optional(),
           real("clip_norm", "a gradient longer than this, over all parameters, is scaled down to it")
               .above(0)
               .optional(),
           real("clip_value", "numbers of the gradient beyond this size are set to it, before clip_norm")
               .above(0)
               .optional(),
           real("average",
                "a running mean of the weights, of which a step keeps this part, is what is evaluated and "
                "saved")
               .above(0)
               .below(1)
               .optional(),
           list_of("metrics", "what is reported besides the loss; the first decides which weights are best",
                   family("", "a metric", "metric"))
               .fallback("[]"),
           integer("seed", "initial weights, order of samples and random masks follow from it")
               .at_least(0)
               .fallback("1"),
           either("exact", "the same bits on any number of ranks and threads",
                  {boolean("switch", "whether"),
                   section(
                       "settings", "exact, but not in all",
                       {boolean("modelpar", "also whether --modelpar cuts layers or not").fallback("true")})})
               .fallback("false"),
           integer("blocks",
                   "exact mode computes so many parts of each batch by themselves; at least the data ranks")
               .at_least(1)
               .at_most(VirtualWorkers::kMost)
               .fallback("8"),
           section("evaluate",
                   "when loss and metrics of the validation samples, or else the test samples, are computed",
                   {every_steps(), every_epochs()})
               .or_word("epoch")
               .or_word("end")
               .or_word("never")
               .fallback("epoch")
               .changeable(),
           section("checkpoint",
                   "when all that a run needs to go on is saved; the end always counts, except with never",
                   {every_steps(), every_epochs(),
                    real("minutes", "whenever so many minutes have passed").above(0).optional(),
                    integer("keep", "so many of the last ones stay, and the best").at_least(1).fallback("2")})
               .or_word("epoch")
               .or_word("never")
               .fallback("epoch")
               .changeable(),
           section("guards",
                   "how often what several processes hold is compared, and never to leave memory unwatched",
                   {every_steps()})
               .or_word("never")
               .fallback("{steps: 50}")
               .changeable(),
           integer("crosscheck",
                   "exact mode: every so many steps each process computes a part of another's batch again, "
                   "and all bits must be the same")
               .at_least(1)
               .optional()
               .changeable(),
           integer("stall_timeout",
                   "seconds that a process waits for others before it gives the run up; ten times as many "
                   "for a disk of which nothing moves")
               .at_least(1)
               .fallback("300")
               .changeable(),
           integer("log_every", "steps between lines of metrics.jsonl")
               .at_least(1)
               .fallback("10")
               .changeable()}),
  };
}

}  // namespace trainer
