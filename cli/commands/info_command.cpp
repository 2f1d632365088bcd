#include <fmt/format.h>

#include <optional>
#include <set>

#include "cli/commands/commands.h"
#include "cli/reports/environment.h"
#include "cli/terminal/text.h"
#include "engine/math/engine.h"
#include "engine/parallel/link_times.h"
#include "engine/parallel/mpi_world.h"
#include "engine/system/cores.h"
#include "models/exporting/onnx/onnx_writer.h"
#include "models/planning/link_cost.h"

namespace trainer {
namespace {

/// Nothing on one host, and on ranks that do not take part.
std::optional<LinkTimes> link_of_hosts(Communicator& world) {
  const auto host = world.split_by_host();
  const auto hosts = world.split(host->rank() == 0 ? 0 : 1, world.rank());
  if (host->rank() > 0 || hosts->size() == 1) return std::nullopt;
  return measured_link(*hosts);
}

}  // namespace

void info_command(const Job& job) {
  const auto line = [&](std::string_view name, std::string_view value) {
    job.print(fmt::format("{:14}{}\n", name, value));
  };
  for (const auto& [name, value] : machine_facts()) line(name, value);
  for (const EngineInfo& engine : engines())
    line("--engine", fmt::format("{:9}{}{}", engine.name, engine.kernels, engine.in_use ? ", in use" : ""));
  line("ONNX", onnx_version());
  const auto cores = binding_was_chosen() ? usable_cores() : host_cores();
  std::int64_t hardware_threads = 0;
  std::set<int> domains;
  for (const Core& core : cores) {
    hardware_threads += std::ssize(core.hardware_threads);
    domains.insert(core.domain);
  }
  line("cores", fmt::format("{}, {}, {}", granted_cores(cores), counted(hardware_threads, "hardware thread"),
                            counted(std::ssize(domains), "NUMA domain")));
  if (job.world.size() > 1) line("processes", std::to_string(job.world.size()));
  if (const std::optional<LinkTimes> link = link_of_hosts(job.world)) {
    constexpr double kMegabits = 8e-6, kMicroseconds = 1e6, kMegabyte = 1e6;
    line("link", fmt::format("{0:.0f} Mbit/s, {1:.0f} us between hosts, {3:.0f} us of computing a megabyte: "
                             "--link {0:.0f}Mbps,{1:.0f}us,{2:g}us,{3:.0f}us",
                             kMegabits * link->bandwidth, kMicroseconds * link->latency,
                             kMicroseconds * LinkCost{}.overhead,
                             kMicroseconds * kMegabyte * link->overhead_per_byte));
  }
}

}  // namespace trainer
