#include "models/training/settings.h"

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "datasets/loading/data.h"
#include "engine/config/registry.h"
#include "engine/config/source.h"
#include "engine/core/units.h"
#include "engine/core/virtual_workers.h"
#include "models/training/early_stopping.h"
#include "models/training/outlier_updates.h"
#include "models/training/separate_steps.h"

namespace trainer {
namespace {

constexpr int kStaleness = 8;  // of asynchronous SGD, by default

Cadence cadence(const Config& train, std::string_view key) {
  using Kind = Cadence::Kind;
  if (train.is_word(key, "epoch")) return {};
  if (train.is_word(key, "end")) return {.kind = Kind::end};
  if (train.is_word(key, "never")) return {.kind = Kind::never};
  const Config map = train.at(key);
  Cadence cadence;
  int units = 0;
  const auto read = [&](std::string_view unit, const auto& take) {
    if (!map.has(unit)) return;
    if (units++ > 0)
      map.fail(unit, fmt::format("`{}` takes one interval, got two", key),
               fmt::format("keep one; -s 'train.{}={{{}: ...}}' replaces the whole map", key, unit));
    take();
  };
  read("steps", [&] { cadence = {.kind = Kind::steps, .count = map.get<std::int64_t>("steps")}; });
  if (key != "guards")
    read("epochs", [&] { cadence = {.kind = Kind::epochs, .count = map.get<std::int64_t>("epochs")}; });
  if (key == "checkpoint")
    read("minutes", [&] { cadence = {.kind = Kind::minutes, .minutes = map.get<double>("minutes")}; });
  if (key == "guards" && units == 0)
    train.fail("guards", "`guards` expects never or an interval", "guards: {steps: 50}");
  return cadence;
}

Setting rule_of_rates() {
  return choice("rule", "`linear`: by the ratio of the batches; `sqrt`: by its root", {"linear", "sqrt"});
}

RateScaling rate_scaling(const Config& scaling) {
  const bool is_long = scaling.type() == "settings";
  const std::string rule = is_long ? scaling.get<std::string>("rule") : scaling.value<std::string>();
  RateScaling result{.rule = rule == "sqrt" ? RateScaling::Rule::sqrt : RateScaling::Rule::linear};
  if (is_long) result.batch = scaling.get<std::int64_t>("batch");
  return result;
}

Setting every_steps() {
  return integer("steps", "interval in steps").at_least(1).at_most(kMaxSteps).optional();
}
Setting every_epochs() {
  return integer("epochs", "interval in epochs").at_least(1).at_most(kMaxEpochs).optional();
}

RollbackSettings rollback_settings(const Config& train) {
  if (train.is_word("checkpoint", "never"))
    train.fail("on_divergence", "a rollback returns to the last checkpoint, and train.checkpoint is never",
               "checkpoint: {steps: 100}, for example");
  if (train.is_word("on_divergence", "rollback")) return {};
  const Config rollback = train.at("on_divergence");
  return {.times = rollback.get<std::int64_t>("times"), .factor = rollback.get<double>("factor")};
}

EarlyStoppingSettings early_stopping(const Config& config) {
  using Mode = EarlyStoppingSettings::Mode;
  EarlyStoppingSettings settings{.patience = config.get<std::int64_t>("patience"),
                                 .min_delta = config.get<double>("min_delta")};
  const auto mode = config.get<std::string>("mode");
  settings.mode = mode == "any" ? Mode::any : mode == "all" ? Mode::all : Mode::first;
  if (!config.has("metric")) return settings;
  settings.metric = config.get<std::string>("metric");
  if (settings.mode != Mode::first)
    config.fail("metric", "mode " + mode + " follows the loss and all metrics", "remove metric, or mode");
  return settings;
}

}  // namespace

double RateScaling::factor(double batch_of_update) const {
  const double ratio = batch_of_update / static_cast<double>(batch);
  return rule == Rule::sqrt ? std::sqrt(ratio) : ratio;
}

bool Cadence::due(std::int64_t done, std::int64_t steps_per_epoch, std::int64_t total,
                  std::int64_t steps) const {
  if (kind == Kind::never) return false;
  if (done == total) return true;
  const auto passes = [&](std::int64_t interval) {
    return done > 0 && done / interval > (done - steps) / interval;
  };
  switch (kind) {
    case Kind::epochs:
      return passes(count * steps_per_epoch);
    case Kind::steps:
      return passes(count);
    default:
      return false;
  }
}

double TrainSettings::scaled_rate(double rate) const {
  const int updates = local ? local->virtual_workers : 1;
  return lr_scaling ? rate * lr_scaling->factor(static_cast<double>(batch) / updates) : rate;
}

TrainSettings train_settings(const Config& train) {
  TrainSettings settings{.batch = train.get<std::int64_t>("batch"),
                         .seed = static_cast<std::uint64_t>(train.get<std::int64_t>("seed")),
                         .log_every = train.get<std::int64_t>("log_every"),
                         .stall_timeout = train.get<std::int64_t>("stall_timeout"),
                         .evaluate = cadence(train, "evaluate"),
                         .checkpoint = cadence(train, "checkpoint"),
                         .guards = cadence(train, "guards"),
                         .virtual_workers = train.get<int>("virtual_workers"),
                         .measures_balance = train.get<std::string>("balance") == "measured"};
  if (!train.is_word("checkpoint", "epoch") && !train.is_word("checkpoint", "never"))
    settings.keep = train.at("checkpoint").get<std::int64_t>("keep");
  if (train.has("epochs")) settings.epochs = train.get<std::int64_t>("epochs");
  if (train.has("steps")) settings.steps = train.get<std::int64_t>("steps");
  if (const Config accumulate = train.at("accumulate"); accumulate.type() == "number") {
    settings.accumulate = accumulate.value<std::int64_t>();
  } else {
    settings.memory_limit = bytes_of(accumulate.get<std::string>("fit"));
    if (!settings.memory_limit)
      accumulate.fail(
          "fit", "`fit` expects a size with its unit, got " + in_quotes(accumulate.get<std::string>("fit")),
          "fit: 4GiB; units are kB, KiB, MB, MiB, GB, GiB");
  }
  if (settings.memory_limit && settings.measures_balance)
    train.fail("balance",
               "`accumulate: {fit: ...}` counts the memory of equal shares, and a fast rank has a larger one",
               "a number of micro-batches in accumulate, or balance: equal");
  if (settings.batch % settings.accumulate != 0)
    train.fail("accumulate", fmt::format("a batch of {} cannot be split into {} equal micro-batches",
                                         settings.batch, settings.accumulate));
  const auto views = train.get<std::string>("views");
  settings.views = views == "mirror"         ? Views::mirror
                   : views == "mirror_shift" ? Views::mirror_shift
                                             : Views::one;
  if (train.has("clip_norm")) settings.clip_norm = train.get<double>("clip_norm");
  if (train.has("clip_value")) settings.clip_value = train.get<double>("clip_value");
  if (train.has("ema")) settings.ema = train.get<float>("ema");
  if (train.has("exact")) {
    const Config exact = train.at("exact");
    settings.exact = exact.type() == "settings" || exact.value<bool>();
    settings.exact_modelpar = settings.exact && (exact.type() != "settings" || exact.get<bool>("modelpar"));
    settings.portable = exact.type() == "settings" && exact.get<bool>("portable");
  }
  if (train.get<std::string>("precision") == "bf16") settings.precision = Precision::bf16;
  settings.stores_bfloat16 = train.get<std::string>("activations") == "bf16";
  settings.logs_gradients = train.has("log") && train.at("log").get<bool>("gradients");
  if (train.has("snapshot")) settings.snapshot = train.at("snapshot").get<std::int64_t>("steps");
  if (train.has("crosscheck")) {
    settings.crosscheck = train.get<std::int64_t>("crosscheck");
    if (!settings.exact)
      train.fail("crosscheck", "crosscheck compares bits, and ranks agree on bits only in exact mode",
                 "add train.exact: true, or remove crosscheck");
  }
  settings.chain = train.get<bool>("chain");
  if (settings.chain && !settings.exact)
    train.fail("chain", "the chain compares bits, and placements agree on bits only in exact mode",
               "add train.exact: true, or remove chain");
  if (train.has("warmup")) settings.warmup = train.get<Duration>("warmup");
  if (train.has("lr_scaling")) settings.lr_scaling = rate_scaling(train.at("lr_scaling"));
  if (train.has("compression")) settings.compression = *Registry<Compression>::make(train.at("compression"));
  if (train.has("early_stopping")) settings.early_stopping = early_stopping(train.at("early_stopping"));
  if (train.has("stop")) {
    const Config stop = train.at("stop");
    if (stop.has("loss")) settings.stop.loss = stop.get<double>("loss");
    if (stop.has("time")) {
      const std::string time = stop.get<std::string>("time");
      settings.stop.seconds = seconds_in(time);
      if (!settings.stop.seconds)
        stop.fail("time", "`time` expects a time with its unit, got " + in_quotes(time),
                  "time: 30m; units are s, m, h and d");
    }
  }
  if (!train.is_word("on_divergence", "stop")) settings.rollback = rollback_settings(train);
  if (train.has("local")) {
    settings.local = local_settings(train, settings);
    settings.exact_modelpar = false;
  }
  // Residuals of virtual workers are the same on any number of ranks.
  if (settings.exact && settings.compression.has_feedback() && !settings.local)
    train.fail("compression",
               "error feedback keeps what each rank has not sent, so its bits depend on the number of ranks",
               "compression: bf16, which exact mode has, or remove exact");
  if (train.has("async")) settings.async = async_settings(train, settings);
  settings.outliers = outlier_settings(train, settings.steps_apart(), settings.compression.has_feedback());
  return settings;
}

void check_ranks(const Config& train, const TrainSettings& settings, int data_ranks, int model_ranks) {
  const auto fail = [&](std::string_view key, const std::string& what, const std::string& help) {
    throw Error(ExitCode::ranks, {train.diagnostic(key, what, help)});
  };
  if (settings.micro_batch() < data_ranks)
    fail("batch",
         fmt::format("a {} of {} samples is too small for {} data ranks",
                     settings.accumulate > 1 ? "micro-batch" : "batch", settings.micro_batch(), data_ranks),
         "train.batch counts the samples of all ranks together; use fewer ranks or a larger batch");
  if (settings.compression.has_feedback() && model_ranks > 1)
    fail("compression",
         fmt::format("{} compresses whole parameters, and --modelpar partitions them",
                     settings.compression.text()),
         "--datapar, or compression: bf16");
  if (settings.local && model_ranks > 1)
    fail("local", "virtual workers of train.local hold whole models, and cannot partition layers over ranks",
         "--datapar, or remove local");
  if (settings.local && settings.local->virtual_workers < data_ranks)
    throw Error(
        ExitCode::ranks,
        {train.at("local").diagnostic(
            "virtual_workers",
            fmt::format("{} virtual workers cannot be distributed over {} data ranks",
                        settings.local->virtual_workers, data_ranks),
            "a larger local.virtual_workers (another number is another computation), or fewer ranks")});
  if (settings.async && model_ranks > 1)
    fail("async", "ranks of train.async compute whole models, and cannot partition layers over ranks",
         "--datapar, or remove async");
  if (settings.exact && !settings.local && settings.virtual_workers < data_ranks)
    fail("virtual_workers",
         fmt::format("{} virtual workers cannot be distributed over {} data ranks", settings.virtual_workers,
                     data_ranks),
         "a larger train.virtual_workers (another number gives other bits), or fewer ranks");
  if (settings.exact && !settings.exact_modelpar && model_ranks > 1)
    fail("exact", "exact mode without modelpar cannot partition layers over ranks",
         "train.exact: true, or --datapar");
}

std::vector<Setting> run_settings() {
  return {
      section("data", "the samples", data_settings()),
      section(
          "model", "the network and its loss",
          {list_of("layers", "the layers from input to output; the data gives the input",
                   family("", "a layer", "layer")),
           family("loss", "objective to minimise", "loss"),
           section("weights", "a file of initial weights, such as a checkpoint's; --init overrides it",
                   {text("file",
                         "a safetensors file, such as model.safetensors of a checkpoint, or a directory of "
                         "Hugging Face with GPT-2, Llama or ResNet"),
                    list_of("except",
                            "layers that keep the values of their `init`, such as a new last layer for "
                            "other classes",
                            text("", "a layer's name"))
                        .fallback("[]"),
                    section("map",
                            "names in the file and here, of layers or tensors: {layer1.0.conv1: conv2}; a "
                            "`*` is any text without a dot, the same on both sides; the first that fits",
                            {text("*", "the name here")})
                        .fallback("{}")})
               .optional()}),
      section(
          "train", "how the network is trained",
          {integer("epochs", "passes over the training samples; 0 writes the initial weights")
               .at_least(0)
               .at_most(kMaxEpochs)
               .optional()
               .changeable()
               .exclusive_with("steps"),
           integer("steps", "number of updates, over as many epochs as they need")
               .at_least(0)
               .at_most(kMaxSteps)
               .optional()
               .changeable()
               .exclusive_with("epochs"),
           integer("batch", "samples of one update, over all ranks")
               .at_least(1)
               .at_most(kMaxSamples)
               .fallback("32"),
           either("accumulate",
                  "micro-batches of a batch; their gradients are added before the update, which saves "
                  "memory; batch_norm normalises each by itself",
                  {integer("number", "how many").at_least(1).at_most(kMaxSamples),
                   section("memory", "as many as the memory of a rank requires",
                           {text("fit", "the most memory of a rank, as 4GiB")})})
               .fallback("1"),
           family("optimizer", "update rule", "optimizer").fallback("{adam: {lr: 0.001}}"),
           family("schedule", "learning rate as a function of the step", "schedule").fallback("constant"),
           duration("warmup",
                    "the learning rate rises linearly to the optimizer's lr; the schedule follows over the "
                    "remaining steps")
               .optional(),
           either("lr_scaling", "multiplies the optimizer's lr for this batch, before warm-up and schedule",
                  {rule_of_rates(),
                   section("settings", "a rule, and the batch that the optimizer's lr is for",
                           {rule_of_rates(), integer("batch", "samples of the batch that lr is for")
                                                 .at_least(1)
                                                 .at_most(kMaxSamples)
                                                 .fallback("256")})})
               .optional(),
           real("clip_norm", "largest norm of the gradient of all parameters; a longer one is scaled down")
               .above(0)
               .optional(),
           real("clip_value", "largest absolute value of a gradient's elements; applied before clip_norm")
               .above(0)
               .optional(),
           real("ema",
                "decay of an exponential moving average of the weights; evaluations and checkpoints use the "
                "average")
               .above(0)
               .below(1)
               .optional()
               .formerly("average"),
           list_of("metrics", "reported beside the loss; the first one selects the best checkpoint",
                   family("", "a metric", "metric"))
               .fallback("[]")
               .fallback_with(
                   {.path = "model.loss", .member = "softmax_cross_entropy", .yaml = "[accuracy]"}),
           integer("seed", "seed of initial weights, sample order, augmentation and dropout")
               .at_least(0)
               .fallback("1"),
           either("exact", "the same bits on any number of ranks and threads",
                  {boolean("switch", "on or off"),
                   section("settings", "exact mode with options",
                           {boolean("modelpar", "the same bits with --modelpar, too").fallback("true"),
                            boolean("portable",
                                    "the same bits on every processor, too: not with --engine openblas")
                                .fallback("false")})})
               .fallback("false"),
           choice("precision",
                  "of the factors of matrix products and convolutions; sums, weights and optimizer states "
                  "are float32. bf16: rounded to bfloat16; where the processor has AVX512-BF16 products take "
                  "half the time, a step about 0.7 of it",
                  {"float32", "bf16"})
               .fallback("float32"),
           choice("activations",
                  "how activations are stored from forward to backward. bf16: rounded to bfloat16, each in "
                  "half the bytes; with scratch memory about 30 % less",
                  {"float32", "bf16"})
               .fallback("float32"),
           boolean("chain",
                   "exact mode: hashes of each step's batch, gradients and weights, in chain.jsonl, which "
                   "`trainer verify` and `trainer bisect` read")
               .fallback("false"),
           integer("virtual_workers",
                   "fixed shares of a batch in exact mode, each computed by itself; at least one for each "
                   "data rank")
               .at_least(1)
               .at_most(VirtualWorkers::kMax)
               .fallback(std::to_string(kVirtualWorkers))
               .formerly("blocks"),
           choice("balance",
                  "shares of a batch on data ranks. measured: in proportion to their speeds, which a few "
                  "steps before the run measure",
                  {"equal", "measured"})
               .fallback("equal")
               .changeable(),
           section(
               "local",
               "local SGD: virtual workers take optimizer steps by themselves, each on its share of the "
               "batch, and average their parameters once a round",
               {integer("steps", "steps of a round; a round also ends with the epoch")
                    .at_least(1)
                    .at_most(kMaxSteps),
                integer("virtual_workers",
                        "fixed number of models that train by themselves; at least one for each data rank")
                    .at_least(1)
                    .at_most(VirtualWorkers::kMax)
                    .fallback(std::to_string(kVirtualWorkers)),
                family("outer", "how a round changes the global parameters", "outer-optimizer")
                    .fallback("average"),
                choice("optimizer_states",
                       "at the end of a round: each virtual worker keeps its own, or all get their mean",
                       {"keep", "average"})
                    .fallback("keep")})
               .optional(),
           section("async",
                   "asynchronous SGD: each rank updates the parameters by its own gradients and waits for no "
                   "other one, within a bound; a batch is as many updates as there are ranks",
                   {integer("staleness",
                            "the most updates by other ranks between the reading of the parameters and the "
                            "update by their gradient; 0: one rank computes at a time")
                        .at_least(0)
                        .at_most(kMaxSteps)
                        .fallback(std::to_string(kStaleness))})
               .optional(),
           family("compression",
                  "how gradients and updates are compressed where hosts exchange them; float32 without it",
                  "compression")
               .optional(),
           choice("views",
                  "views of an image whose outputs an evaluation averages: the image; with its mirror image; "
                  "with both also shifted by a pixel",
                  {"one", "mirror", "mirror_shift"})
               .fallback("one"),
           section("evaluate",
                   "when loss and metrics of the validation samples, or else of the test samples, are "
                   "computed",
                   {every_steps(), every_epochs()})
               .or_word("epoch")
               .or_word("end")
               .or_word("never")
               .fallback("epoch")
               .changeable(),
           section("checkpoint", "when a checkpoint is saved; always at the end, except with never",
                   {every_steps(), every_epochs(), real("minutes", "interval in minutes").above(0).optional(),
                    integer("keep", "newest checkpoints that are kept, besides the best one")
                        .at_least(1)
                        .fallback("2")})
               .or_word("epoch")
               .or_word("never")
               .fallback("epoch")
               .changeable(),
           section("snapshot",
                   "when a copy of the run is kept in memory, from which --restarts resumes after a lost "
                   "process",
                   {integer("steps", "interval in steps: so many are repeated at most")
                        .at_least(1)
                        .at_most(kMaxSteps)})
               .optional()
               .changeable(),
           section(
               "on_divergence",
               "what follows a loss or gradient that is not finite; stop: the run ends; rollback: it returns "
               "to the last checkpoint, with a lower learning rate",
               {integer("times", "rollbacks of a run, at most").at_least(1).at_most(1000).fallback("3"),
                real("factor", "multiplies the learning rate each time").above(0).at_most(1).fallback("0.5")})
               .or_word("stop")
               .or_word("rollback")
               .fallback("stop")
               .changeable(),
           skip_outliers_key(),
           early_stopping_key(),
           stop_key(),
           section("guards",
                   "when replicas on different ranks are compared; `never` also switches off the memory "
                   "guard and the sample ledger",
                   {every_steps()})
               .or_word("never")
               .fallback("{steps: 50}")
               .changeable(),
           integer(
               "crosscheck",
               "exact mode: every so many steps each data rank recomputes a virtual worker of another one, "
               "or its own if it is alone, and all bits of its gradients, loss, metrics and statistics "
               "over the batch are compared; not with keep_state")
               .at_least(1)
               .optional()
               .changeable(),
           integer("stall_timeout",
                   "seconds without a heartbeat of another rank before the run ends; ten times as long for a "
                   "disk that makes no progress")
               .at_least(1)
               .fallback("300")
               .changeable(),
           integer("log_every", "steps between lines of metrics.jsonl")
               .at_least(1)
               .fallback("10")
               .changeable(),
           section("log", "what is logged besides loss and metrics, every `log_every` steps",
                   {boolean("gradients",
                            "norms of each layer's gradient and the ratio of its update to its weights, in "
                            "gradients.csv and the report")
                        .fallback("false")})
               .optional()
               .changeable()}),
  };
}

}  // namespace trainer
