#include "tests/engine/config/families.h"

namespace trainer {
namespace {

Declaration conv() {
  return {.name = "conv",
          .help = "convolution",
          .primary = "filters",
          .settings = {integer("filters", "feature maps").at_least(1).formerly("maps"),
                       integers("kernel", "extent", 2).at_least(1),
                       integers("stride", "step", 2).at_least(1).fallback("1"),
                       integers("pad", "border", 2).at_least(0).or_word("same").fallback("0"),
                       boolean("bias", "adds a bias").fallback("true"),
                       choice("activation", "applied after", {"none", "relu", "tanh"}).fallback("none")}};
}

struct Filled {
  Filled() {
    auto& layer = Catalog::all().family("layer");
    layer.shared = {text("name", "its name").optional(),
                    family("init", "of weights", "initializer").fallback("glorot")};
    const auto add = [](Catalog::Family& to, Declaration one) { to.members.emplace(one.name, one); };
    add(layer, conv());
    add(layer,
        {.name = "dense",
         .help = "units",
         .primary = "units",
         .settings = {integer("units", "outputs").at_least(1), boolean("bias", "adds").fallback("true"),
                      text("label", "for the reader").optional()}});
    add(layer, {.name = "relu", .help = "max(x, 0)"});
    add(layer, {.name = "dropout",
                .help = "drops",
                .primary = "rate",
                .settings = {real("rate", "share").at_least(0).below(1)},
                .former_name = "drop"});
    add(layer, {.name = "residual",
                .help = "x + body(x)",
                .primary = "body",
                .settings = {list_of("body", "layers", family("", "", "layer")),
                             choice("shortcut", "beside", {"identity", "pad"}).fallback("identity")}});
    add(layer, {.name = "concat",
                .help = "branches",
                .primary = "branches",
                .settings = {list_of("branches", "side by side", list_of("", "", family("", "", "layer")))}});
    auto& initializer = Catalog::all().family("initializer");
    add(initializer, {.name = "glorot", .help = "by fan"});
    add(initializer, {.name = "normal",
                      .help = "gaussian",
                      .primary = "std",
                      .settings = {real("std", "deviation").above(0)}});
    add(initializer, {.name = "uniform",
                      .help = "flat",
                      .primary = "range",
                      .settings = {real("range", "plus and minus").above(0)}});
    auto& optimizer = Catalog::all().family("optimizer");
    add(optimizer, {.name = "sgd",
                    .help = "descent",
                    .settings = {real("lr", "learning rate").above(0).fallback("0.01"),
                                 real("momentum", "of it").at_least(0).below(1).fallback("0"),
                                 boolean("nesterov", "looks ahead").fallback("false")}});
    add(optimizer, {.name = "adam",
                    .help = "moments",
                    .settings = {real("lr", "learning rate").above(0).fallback("0.001"),
                                 list_of("betas", "decay", real("", "")).fallback("[0.9, 0.999]")}});
    auto& schedule = Catalog::all().family("schedule");
    add(schedule, {.name = "constant", .help = "as it is"});
    add(schedule, {.name = "step",
                   .help = "drops",
                   .primary = "at",
                   .settings = {durations("at", "when"), real("factor", "by").above(0).fallback("0.1")}});
    auto& metric = Catalog::all().family("metric");
    add(metric, {.name = "accuracy", .help = "share"});
    add(metric, {.name = "top_k", .help = "k", .primary = "k", .settings = {integer("k", "k").at_least(1)}});
  }
};
const Filled filled;

}  // namespace

std::vector<Setting> test_root() {
  return {section("model", "what learns", {list_of("layers", "in order", family("", "", "layer"))}),
          section("train", "how it learns",
                  {integer("epochs", "passes over the data").at_least(0).exclusive_with("steps"),
                   integer("steps", "updates").at_least(0).exclusive_with("epochs"),
                   integer("batch", "samples a step").at_least(1).fallback("128"),
                   text("note", "for the reader").optional().formerly("remark"),
                   boolean("shuffle", "order").fallback("true"),
                   family("optimizer", "the rule", "optimizer").fallback("{sgd: {momentum: 0.9}}"),
                   family("schedule", "of lr", "schedule").fallback("constant"),
                   duration("warmup", "rising lr").optional(),
                   either("evaluate", "when",
                          {choice("", "", {"epoch", "end", "never"}), duration("", "").at_least(1)})
                       .fallback("epoch"),
                   list_of("metrics", "to print", family("", "", "metric")).fallback("[]")})};
}

ConfigTree tree_of(const std::string& yaml, const std::vector<std::string>& overrides) {
  return ConfigTree({.file = "a.yaml", .text = yaml, .overrides = overrides}, test_root());
}

ConfigTree layers_of(const std::string& layers, const std::string& before) {
  return tree_of(before + "model: {layers: " + layers + "}\ntrain: {epochs: 1}\n");
}

std::string mistake_in(const std::string& yaml, const std::vector<std::string>& overrides) {
  try {
    tree_of(yaml, overrides);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace trainer
