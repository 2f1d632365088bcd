#include "models/training/likely_mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "datasets/readers/csv_text.h"
#include "engine/core/counted.h"
#include "models/layers/activation_setting.h"
#include "models/losses/output_loss.h"
#include "models/optimizers/optimizer.h"

namespace trainer {
namespace {

constexpr double kHighRate = 10;

bool has_key(const Config& member, const std::string& family, const std::string& key) {
  const Declaration& declaration = Catalog::all().at(family).members.at(member.type());
  return std::ranges::find(declaration.settings, key, &Setting::name) != declaration.settings.end();
}

/// The activation with which a layer ends: the layer itself, or a setting of it.
struct LastActivation {
  std::string name;  ///< empty: none
  std::string key;   ///< of `layer`; empty: the layer itself
};

LastActivation activation_of_last(const Config& layer) {
  static constexpr std::array kNeverFused{"leaky_relu", "prelu", "softmax"};
  const std::vector<std::string> fusable = activation_setting().choices;
  if (std::ranges::count(kNeverFused, layer.type()) > 0 || std::ranges::count(fusable, layer.type()) > 0)
    return {layer.type(), ""};
  if (!has_key(layer, "layer", "activation")) return {};
  const auto name = layer.get<std::string>("activation");
  return name == "none" ? LastActivation{} : LastActivation{name, "activation"};
}

/// Layers that move elements and change none.
bool only_moves(const Config& layer) {
  return layer.type() == "flatten" || layer.type() == "reshape" || layer.type() == "permute";
}

void check_last_layer(const Config& root, const Session& session, std::vector<Diagnostic>& found) {
  const Config model = root.at("model");
  const std::vector<Config> layers = model.items("layers");
  const auto last = std::ranges::find_if_not(layers.rbegin(), layers.rend(), only_moves);
  if (last == layers.rend() || last->type() == "rnn") return;
  const LastActivation activation = activation_of_last(*last);
  if (activation.name.empty()) return;
  const std::string loss = model.at("loss").type(), remove = "remove `" + activation.name + "`: ";
  const auto warn = [&](const std::string& what, const std::string& help) {
    found.push_back(last->diagnostic(activation.key, what, help));
  };
  const Link link = session.loss().link();
  const bool is_included = (link == Link::softmax && activation.name == "softmax") ||
                           (link == Link::sigmoid && activation.name == "sigmoid");
  if (is_included)
    warn("`" + activation.name + "` before " + loss + ", which includes it",
         remove + "the loss expects logits");
  else if (link != Link::identity)
    warn("`" + activation.name + "` after the last layer limits the outputs that " + loss + " compares",
         remove + "the loss expects logits");
  else if ((loss == "mse" || loss == "huber") && session.data().train->classes() == 0 &&
           root.at("data").get<std::string>("targets") == "given")
    warn("`" + activation.name + "` after the last layer limits what the model can predict",
         remove + "the loss compares outputs with values of any size");
}

void check_rate(const Config& train, const Session& session, std::vector<Diagnostic>& found) {
  const Config optimizer = train.at("optimizer");
  // The rate of lars multiplies a trust coefficient of 0.001.
  if (optimizer.type() == "lars") return;
  const double written = optimizer.get<double>("lr"), rate = session.settings().scaled_rate(written);
  if (rate <= kHighRate) return;
  const std::string scaled = rate == written ? "" : fmt::format(" ({:g} scaled by lr_scaling)", written);
  found.push_back(optimizer.diagnostic("lr",
                                       fmt::format("a learning rate of {:g}{} is very high", rate, scaled),
                                       "most runs take 0.001 to 1, and less with adam"));
}

void check_schedule(const Config& train, const Session& session, std::vector<Diagnostic>& found) {
  const Config schedule = train.at("schedule");
  if (schedule.type() != "cosine") return;
  const double rate = session.settings().scaled_rate(train.at("optimizer").get<double>("lr")),
               final = schedule.get<double>("final");
  if (final <= rate) return;
  found.push_back(schedule.diagnostic(
      "final", fmt::format("the learning rate rises from {:g} to {:g}", rate, final),
      "`final` is the rate at the end; the length is that of the run, or `period: {epochs: n}`"));
}

void check_batch(const Config& train, const Session& session, std::vector<Diagnostic>& found) {
  const std::int64_t batch = session.settings().batch, samples = session.data().train->size();
  if (batch <= samples) return;
  found.push_back(train.diagnostic(
      "batch",
      fmt::format("a batch of {} is larger than the training set of {}", batch, counted(samples, "sample")),
      "a smaller train.batch: now an epoch is one update"));
}

void check_adapters(const Config& model, const Session& session, std::vector<Diagnostic>& found) {
  if (session.network().plan().adapters().empty() || model.has("weights")) return;
  found.push_back(model.diagnostic("", "`lora` freezes weights that no training has changed",
                                   "`weights: {file: FILE}` in model, or --init FILE, brings trained ones"));
}

void check_frozen(const Config& model, const Session& session, std::vector<Diagnostic>& found) {
  const std::vector<Parameter>& parameters = session.network().plan().parameters();
  const auto learns = [](const Parameter& parameter) { return parameter.rate > 0; };
  if (parameters.empty() || std::ranges::any_of(parameters, learns)) return;
  found.push_back(model.diagnostic("layers", "no layer learns: all of them are frozen",
                                   "without `frozen` in the layers that are to learn"));
}

/// Classes that teach nothing, or that are rather numbers.
void check_classes(const Config& root, const Session& session, std::vector<Diagnostic>& found) {
  const DatasetInfo& info = session.data().train->info();
  const Config data = root.at("data"), dataset = data.at("dataset");
  if (!session.data().notice.empty() || info.vocabulary > 0) return;
  if (info.classes == 1)
    found.push_back(data.diagnostic("dataset", "all training samples are of one class",
                                    "at least two classes; with one the loss is 0 from the start"));
  if (!has_key(dataset, "dataset", "targets") || !dataset.is_word("targets", "labels")) return;
  const auto is_number = [](const std::string& name) {
    double ignored = 0;
    return parse_number(name, ignored);
  };
  const auto has_point = [](const std::string& name) { return name.find('.') != name.npos; };
  if (info.class_names.empty() || !std::ranges::all_of(info.class_names, is_number) ||
      std::ranges::none_of(info.class_names, has_point))
    return;
  found.push_back(dataset.diagnostic(
      "targets",
      fmt::format("{} different numbers are classes, such as {}", info.classes, info.class_names.front()),
      fmt::format("if they are values: `targets: numbers` in {}, and `loss: mse`", dataset.type())));
}

}  // namespace

std::vector<Diagnostic> likely_mistakes(const Config& root, const Session& session, bool has_weights) {
  std::vector<Diagnostic> found;
  check_last_layer(root, session, found);
  check_rate(root.at("train"), session, found);
  check_schedule(root.at("train"), session, found);
  check_batch(root.at("train"), session, found);
  check_frozen(root.at("model"), session, found);
  check_classes(root, session, found);
  const Config model = root.at("model");
  if (!has_weights) check_adapters(model, session, found);
  if (has_weights && model.has("weights"))
    found.push_back(model.diagnostic("weights", "--init replaces these weights", "one of the two"));
  return found;
}

std::string warning_text(const Diagnostic& diagnostic) {
  return "warning" + diagnostic.text().substr(std::string("error").size());
}

void check_targets(const Config& root, const Data& data, const Loss& loss, const Shape& output) {
  const Config dataset = root.at("data").at("dataset");
  const std::int64_t classes = data.train->classes();
  if (!data.notice.empty() || classes == 0 || output.size() == classes ||
      !has_key(dataset, "dataset", "targets") || !dataset.is_word("targets", "labels"))
    return;
  const std::string type = root.at("model").at("loss").type();
  const std::string read = fmt::format("the dataset reads its targets as {} classes", classes);
  const bool compares_values =
      dynamic_cast<const OutputLoss*>(&loss) != nullptr && loss.link() == Link::identity;
  // Classes with a few samples each are rather numbers.
  constexpr std::int64_t kFewSamples = 3;
  if (compares_values)
    dataset.fail(
        "targets", fmt::format("{} compares values, but {}", type, read),
        fmt::format("`targets: numbers` in {}; or, if they are classes, `dense: {}` as the last layer",
                    dataset.type(), classes));
  if (classes * kFewSamples > data.train->size())
    dataset.fail(
        "targets", fmt::format("{}, of {} samples", read, data.train->size()),
        fmt::format("if they are numbers: `targets: numbers` in {}, and `loss: mse`; else `dense: {}` as "
                    "the last layer",
                    dataset.type(), classes));
}

}  // namespace trainer
