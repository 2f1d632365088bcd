#include "cli/reports/header.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/reports/columns.h"
#include "cli/terminal/text.h"
#include "engine/config/source.h"
#include "engine/core/escape.h"
#include "engine/math/engine.h"
#include "engine/math/instruction_set.h"
#include "engine/system/cores.h"

namespace trainer {
namespace {

constexpr std::size_t kLabelColumns = 14, kLineColumns = 80;
constexpr int kLayerLines = 6;

std::string labelled(const std::string& label, const std::string& text) {
  const std::string shown = escaped(label);
  const std::size_t columns = columns_of(shown);
  return shown + std::string(columns + 2 > kLabelColumns ? 2 : kLabelColumns - columns, ' ') +
         wrapped(escaped(text), std::max(columns + 2, kLabelColumns), kLabelColumns,
                 static_cast<std::size_t>(window_columns())) +
         "\n";
}

/// "6 layers, 274,758 parameters (1.0 MiB), of which 5,010 train (frozen: conv1, conv2)"
std::string model_text(const Session& session) {
  std::int64_t layers = 0, frozen = 0;
  for (const Sequence::Entry& entry : session.network().layers().entries()) layers += entry.config ? 1 : 0;
  std::vector<std::string> names;  // of layers, or of parameters beside others that train
  const std::vector<Parameter>& parameters = session.network().plan().parameters();
  for (const Parameter& parameter : parameters) {
    if (parameter.rate > 0) continue;
    frozen += parameter.whole_shape().size();
    const bool has_others = std::ranges::any_of(
        parameters, [&](const Parameter& other) { return other.rate > 0 && other.layer == parameter.layer; });
    const std::string& name = has_others ? parameter.name : parameter.layer;
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  const std::int64_t all = session.parameter_count();
  std::string text =
      fmt::format("{}, {} ({})", counted(layers, "layer"), counted(all, "parameter"), bytes_text(4 * all));
  if (frozen == 0) return text;
  constexpr std::size_t kMostNames = 4;
  const std::size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  if (more > 0) names.push_back(fmt::format("{} more", more));
  return text + fmt::format(", of which {} train (frozen: {})", grouped(all - frozen), listed(names, "and"));
}

std::string layer_lines(const Network& network) {
  const std::string separator = shows_utf8() ? " ·" : " >";
  std::string lines, line;
  int count = 0;
  for (const Sequence::Entry& entry : network.layers().entries()) {
    if (!entry.config) continue;
    const std::string layer = entry.name + " " + channels_first_text(entry.output);
    if (!line.empty() && columns_of(line) + columns_of(layer) + 3 > kLineColumns - kLabelColumns) {
      lines += labelled("", line + separator);
      line.clear();
      if (++count == kLayerLines) return lines + labelled("", "... (trainer summary shows all)");
    }
    if (!line.empty()) (line += separator) += ' ';
    line += layer;
  }
  return line.empty() ? lines : lines + labelled("", line);
}

std::string length_text(const RunFacts& facts, const TrainSettings& settings) {
  if (settings.steps)
    return fmt::format("{} (an epoch is {})", counted(facts.total_steps, "step"),
                       grouped(facts.steps_per_epoch));
  return fmt::format("{} x {}", counted(facts.epochs, "epoch"), counted(facts.steps_per_epoch, "step"));
}

std::string batch_text(const RunFacts& facts, const Session& session) {
  const int data_ranks = session.mesh().data().size();
  const std::int64_t micro_batches = session.settings().accumulate;
  const std::string parts = micro_batches > 1 ? fmt::format(" in {} micro-batches", micro_batches) : "";
  if (data_ranks == 1 || !session.rank_shares().empty()) return fmt::format("batch {}{}", facts.batch, parts);
  const std::int64_t least = facts.batch / data_ranks;
  const bool even = facts.batch % data_ranks == 0;
  return fmt::format("batch {} ({} a rank){}", facts.batch,
                     even ? std::to_string(least) : fmt::format("{} or {}", least, least + 1), parts);
}

/// "25%, 75% of each batch" or "2, 6 of 8 virtual workers", by data rank; of many the least and the most.
/// Empty where shares are equal by definition.
std::string balance_text(const Session& session) {
  const std::vector<std::int64_t> shares = session.rank_shares();
  if (shares.empty()) return "";
  const std::int64_t all = session.parts_of_batch();
  const auto text_of = [&](std::int64_t share) {
    return session.settings().exact
               ? std::to_string(share)
               : fmt::format("{:.3g}%", 100 * static_cast<double>(share) / static_cast<double>(all));
  };
  constexpr std::size_t kMostShares = 8;
  std::string text;
  if (shares.size() > kMostShares) {
    const auto [least, most] = std::ranges::minmax_element(shares);
    text = fmt::format("{} (data rank {}) to {} (data rank {})", text_of(*least), least - shares.begin(),
                       text_of(*most), most - shares.begin());
  } else {
    for (const std::int64_t share : shares) text += (text.empty() ? "" : ", ") + text_of(share);
  }
  return text + (session.settings().exact ? fmt::format(" of {} virtual workers", all) : " of each batch");
}

}  // namespace

std::string ranks_text(const Session& session, const CpuAffinity& affinity) {
  const Mesh& mesh = session.mesh();
  std::string text = counted(mesh.world().size(), "rank");
  if (mesh.world().size() > 1)
    text += fmt::format(" ({} data x {} model) on {}", mesh.data().size(), mesh.model().size(),
                        counted(affinity.hosts, "host"));
  text += fmt::format(", {}{}", threads_text(affinity.placement.threads, session.pool().size()),
                      mesh.world().size() > 1 ? " each" : "");
  const TrainSettings& settings = session.settings();
  return text + ", engine " + engine_text() +
         (settings.portable ? ", exact portable"
          : settings.exact  ? ", exact"
                            : "");
}

std::string data_text(const Data& data) {
  std::string text = fmt::format("{}: {} train", data.name, grouped(data.train->size()));
  if (data.validation) text += fmt::format(", {} validation", grouped(data.validation->size()));
  if (data.test) text += fmt::format(", {} test", grouped(data.test->size()));
  if (const int tokens = data.train->info().vocabulary; tokens > 0)
    return text + fmt::format(", sequences of {}, {} different tokens", data.train->positions(), tokens);
  text += ", " + channels_first_text(data.train->sample());
  if (data.train->classes() > 0) text += ", " + counted(data.train->classes(), "class", "es");
  return text;
}

std::string Header::text() const {
  const RunFacts facts = training.facts();
  const Data& data = session.data();
  std::string text = labelled(name, ranks_text(session, affinity));
  if (affinity.local_ranks > affinity.cores)
    text += labelled("", fmt::format("{} on {}: they wait for each other; -n {} is faster",
                                     counted(affinity.local_ranks, "rank"), counted(affinity.cores, "core"),
                                     affinity.cores * affinity.hosts));
  if (training.lacks_shared_memory())
    text += labelled("", "/dev/shm has too little room: gradients travel by MPI, which is slower");
  if (verbose) {
    text += labelled("", fmt::format("{}, {}, threads: {}, gradients: {}", cpu_name(), instruction_set(),
                                     affinity.placement.reason, training.transport()));
    for (const std::string& line : data.fingerprint) text += labelled("", line);
  }
  text += labelled("data", data_text(data));
  if (const std::string columns = columns_text(data.form); !columns.empty()) text += labelled("", columns);
  if (!data.notice.empty()) text += labelled("", data.notice);
  text += labelled("model", model_text(session));
  text += layer_lines(session.network());
  if (const std::string weights = training.weights_text(); !weights.empty())
    text += labelled("weights", weights);
  text += labelled(
      "train", fmt::format("{}, {}, {}, seed {}", length_text(facts, session.settings()),
                           batch_text(facts, session), training.optimizer_text(), session.settings().seed));
  if (const std::string balance = balance_text(session); !balance.empty())
    text += labelled("balance", balance);
  if (const std::string compression = session.settings().compression.text(); !compression.empty())
    text += labelled("compression", compression);
  if (const std::string local = training.local_text(); !local.empty()) text += labelled("local", local);
  if (const std::string async = training.async_text(); !async.empty()) text += labelled("async", async);
  std::string run = run_directory;
  if (facts.first_step > 0) run += fmt::format(", resumes after step {}", grouped(facts.first_step));
  return text + labelled("run", run);
}

}  // namespace trainer
