#include "cli/reports/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/terminal/version.h"
#include "engine/math/engine.h"
#include "engine/math/instruction_set.h"
#include "engine/parallel/mpi_world.h"
#include "engine/system/cores.h"
#include "engine/system/host.h"

namespace trainer {
namespace {

/// FNV-1a: good enough to notice that two texts differ.
std::string hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

std::vector<std::string> hosts_of(Communicator& world) {
  const std::string mine = host_name();
  std::vector<std::string> hosts;
  for (const auto& bytes : world.gather(std::as_bytes(std::span(mine)), 0)) {
    const std::string host(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(host);
  }
  return hosts;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts() {
  return {{"trainer", fmt::format("{} ({})", version(), source_revision())},
          {"cpu", cpu_name()},
          {"instructions", instruction_set()},
          {"engine", engine_text()},
          {"mpi", mpi_version()}};
}

std::string environment_json(const Session& session, const CpuAffinity& affinity,
                             const std::string& resolved_config) {
  const Mesh& mesh = session.mesh();
  std::string data;
  for (const std::string& line : session.data().fingerprint) data += line + "\n";
  nlohmann::ordered_json json;
  for (const auto& [name, value] : machine_facts()) json[name] = value;
  json["hosts"] = hosts_of(mesh.world());
  json["ranks"] = mesh.world().size();
  json["mesh"] = {mesh.data().size(), mesh.model().size()};
  json["threads"] = affinity.placement.threads;
  json["workers"] = session.pool().size();
  json["threads_by"] = affinity.placement.reason;
  json["directory"] = std::filesystem::current_path().string();
  json["seed"] = session.settings().seed;
  json["config_hash"] = hash_of(resolved_config);
  json["data"] = session.data().fingerprint;
  json["data_hash"] = hash_of(data);
  constexpr int kIndent = 2;
  return json.dump(kIndent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace trainer
