#include "cli/launching/rank_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "cli/launching/launcher_output.h"
#include "engine/system/exit_reason.h"
#include "engine/system/host.h"

namespace trainer {
namespace {

const std::string kRun = "run ", kSurvivor = "survivor ", kHeartbeat = "heartbeat";
const std::string kFinished = "finished", kStopped = "stopped", kStoppedUnsaved = "stopped unsaved",
                  kLost = "lost";

void send(const std::string& text) {
  const std::string line = LauncherOutput::private_line(text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// The launcher's name of this host.
std::string name_for_launcher() {
  const char* name = std::getenv("PMIX_HOSTNAME");
  return name && *name ? name : host_name();
}

/// `path` without control characters: "%0a" for a newline, "%25" for a percent sign.
std::string encoded(const std::string& path) {
  std::string text;
  for (const char letter : path) {
    const auto byte = static_cast<unsigned char>(letter);
    text +=
        byte < 0x20 || byte == 0x7F || byte == '%' ? fmt::format("%{:02x}", byte) : std::string(1, letter);
  }
  return text;
}

std::string decoded(const std::string& text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_code = text[i] == '%' && i + 2 < text.size();
    path += is_code ? static_cast<char>(std::strtol(text.substr(i + 1, 2).c_str(), nullptr, 16)) : text[i];
    if (is_code) i += 2;
  }
  return path;
}

}  // namespace

void report_run(const std::filesystem::path& directory) { send(kRun + encoded(directory.string())); }

void report_end(RunEnd end) {
  send(end == RunEnd::finished ? kFinished : end == RunEnd::stopped ? kStopped : kStoppedUnsaved);
}

void prepare_survivor_report(int rank, int hosts) {
  prepare_loss_report(LauncherOutput::private_line(kLost));
  prepare_exit_reason(
      LauncherOutput::private_line(fmt::format("{}{} {} {}", kSurvivor, rank, hosts, name_for_launcher())));
}

std::string heartbeat_line() { return LauncherOutput::private_line(kHeartbeat); }

bool is_heartbeat(const std::string& line) { return line == kHeartbeat; }

bool is_survivor_report(const std::string& line) { return line.starts_with(kSurvivor); }

RankReports read_reports(const std::vector<std::string>& lines) {
  RankReports reports;
  int all_hosts = 1;
  std::map<int, std::string> survivors;
  for (const std::string& line : lines) {
    if (line.starts_with(kRun)) reports.run = decoded(line.substr(kRun.size()));
    reports.finished |= line == kFinished;
    reports.stopped |= line == kStopped;
    reports.lost |= line == kLost;
    reports.stopped_unsaved |= line == kStoppedUnsaved;
    if (!is_survivor_report(line)) continue;
    std::istringstream words(line.substr(kSurvivor.size()));
    int rank = 0, hosts = 0;
    std::string host;
    if (!(words >> rank >> hosts >> host)) continue;
    survivors[rank] = host;
    all_hosts = std::max(all_hosts, hosts);
  }
  reports.survivors = static_cast<int>(survivors.size());
  if (all_hosts == 1) return reports;
  for (const auto& [rank, host] : survivors) {
    const auto share = std::ranges::find(reports.hosts, host, &HostShare::host);
    if (share == reports.hosts.end())
      reports.hosts.push_back({.host = host, .ranks = 1});
    else
      ++share->ranks;
  }
  return reports;
}

}  // namespace trainer
