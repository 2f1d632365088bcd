#include "cli/reports/plan_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "cli/terminal/list_items.h"
#include "cli/terminal/text.h"

namespace trainer {
namespace {

std::string count_text(std::int64_t count) { return count > 0 ? grouped(count) : ""; }

const std::map<std::string, std::string> kRemedies{
    {"activations and scratch",
     "a smaller train.batch, train.accumulate: 2 or more, or fewer ranks on a host"},
    {"gradients",
     "fewer threads and ranks on a host (each thread has a gradient), or --mesh with model ranks"},
    {"gradients of virtual workers", "train.virtual_workers: fewer, or more ranks"},
    {"parameters", "--modelpar, or --mesh with model ranks, which share dense and attention layers"},
    {"optimizer state", "more data ranks, or an optimizer with less state"},
    {"samples in memory", "data.fraction, or a dataset of files that are read during the run"}};

std::string place_text(const Collective& collective) {
  switch (collective.between) {
    case Collective::Between::memory_of_host:
      return "host memory";
    case Collective::Between::processes_of_host:
      return fmt::format("{} of a host", counted(collective.members, "rank"));
    case Collective::Between::hosts:
      return counted(collective.members, "host");
  }
  return "";
}

/// The operation without its bucket or layer: "reduce-scatter of gradients".
std::string operation(const Collective& collective) {
  return collective.what.substr(0, collective.what.find(", "));
}
/// "bucket 3", or the name of a layer.
std::string part(const Collective& collective) {
  const std::string rest = collective.what.substr(operation(collective).size());
  return rest.empty() ? rest : rest.substr(2);
}

/// Collectives of one kind, in one line.
std::vector<std::string> row_of(std::span<const Collective> all) {
  std::int64_t times = 0, bytes = 0, sent = 0;
  for (const Collective& each : all) {
    times += each.times;
    bytes += each.times * each.bytes;
    sent += each.sent;
  }
  const Collective &first = all.front(), &last = all.back();
  std::string name = first.what;
  if (all.size() > 1) name = fmt::format("{}, {} to {}", operation(first), part(first), part(last));
  return {name,
          first.when,
          place_text(first),
          grouped(times),
          bytes_text(bytes / std::max<std::int64_t>(times, 1)),
          sent > 0 ? bytes_text(sent) : "0"};
}

/// The shards of a layer's weights, of which each takes a line: "128x3x[0, 64), [0, 64)x128".
std::vector<std::string> shards_of(const LayerCost& layer) {
  std::vector<std::string> shards = list_items(layer.shard).value_or(std::vector{layer.shard});
  for (std::size_t i = 0; i + 1 < shards.size(); ++i) shards[i] += ',';
  return shards;
}

}  // namespace

std::string link_text(const LinkCost& cost) {
  constexpr double kGigabits = 8e-9, kMicroseconds = 1e6, kMegabyte = 1e6;
  std::string text = fmt::format("{:g} Gbit/s, {:g} us, {:g} us a message", cost.bandwidth * kGigabits,
                                 cost.latency * kMicroseconds, cost.overhead * kMicroseconds);
  if (cost.overhead_per_byte > 0)
    text += fmt::format(", {:g} us a megabyte", cost.overhead_per_byte * kMegabyte * kMicroseconds);
  return text;
}

std::string milliseconds_text(double seconds) {
  const double milliseconds = 1000 * seconds;
  return milliseconds < 100 ? fmt::format("{:.2f} ms", milliseconds) : fmt::format("{:.0f} ms", milliseconds);
}

std::string layers_text(const std::vector<LayerCost>& layers) {
  std::vector<std::vector<std::string>> rows{
      {"layer", "type", "output", "parameters", "shard", "FLOPs", "backward"}};
  std::int64_t parameters = 0, forward = 0, backward = 0;
  for (const LayerCost& layer : layers) {
    parameters += layer.parameters;
    forward += layer.forward;
    backward += layer.backward;
    if (!layer.is_configured && layer.parameters == 0) continue;
    const std::vector<std::string> shards = shards_of(layer);
    rows.push_back({layer.name, layer.type, channels_first_text(layer.output), count_text(layer.parameters),
                    shards.front(), count_text(layer.forward), count_text(layer.backward)});
    for (std::size_t i = 1; i < shards.size(); ++i) rows.push_back({"", "", "", "", shards[i], "", ""});
  }
  rows.push_back({"total", "", "", count_text(parameters), "", count_text(forward), count_text(backward)});
  if (std::ranges::none_of(std::span(rows).subspan(1), [](const auto& row) { return !row[4].empty(); }))
    for (auto& row : rows) row.erase(row.begin() + 4);

  return table(rows, 2);
}

std::string memory_text(const MemoryPlan& plan, int ranks_per_host, std::int64_t memory) {
  std::vector<std::vector<std::string>> rows{{"memory", "a rank", "shared by", "a host"}};
  const MemoryPlan::Part* largest = nullptr;
  for (const MemoryPlan::Part& part : plan.parts) {
    rows.push_back({part.kind, part.sharers > 1 ? "" : bytes_text(part.bytes),
                    part.sharers > 1 ? counted(part.sharers, "rank") : "", bytes_text(part.on_host)});
    if (!largest || part.on_host > largest->on_host) largest = &part;
  }
  rows.push_back({"total", bytes_text(plan.of_rank()), "", bytes_text(plan.of_host())});
  const bool fits = plan.of_host() <= memory;
  std::string text = table(rows, 1) + fmt::format("{}: {} of {} of a host with {}\n",
                                                  fits ? "fits" : "does not fit", bytes_text(plan.of_host()),
                                                  bytes_text(memory), counted(ranks_per_host, "rank"));
  if (fits || !largest) return text;
  const auto remedy = kRemedies.find(largest->kind);
  const std::string help = remedy == kRemedies.end() ? "" : "; what helps: " + remedy->second;
  return text + in_lines(fmt::format("most of it: {}{}\n", largest->kind, help), 2);
}

std::string collectives_text(const std::vector<Collective>& collectives) {
  if (collectives.empty()) return "collectives of a step: none\n";
  std::vector<std::vector<std::string>> rows{
      {"collectives of a step", "when", "between", "times", "each", "sent"}};
  for (std::size_t first = 0, last = 0; first < collectives.size(); first = last) {
    const auto is_alike = [&](const Collective& other) {
      return operation(other) == operation(collectives[first]) && other.when == collectives[first].when &&
             other.between == collectives[first].between;
    };
    while (last < collectives.size() && is_alike(collectives[last])) ++last;
    rows.push_back(row_of(std::span(collectives).subspan(first, last - first)));
  }
  return table(rows, 3);
}

}  // namespace trainer
