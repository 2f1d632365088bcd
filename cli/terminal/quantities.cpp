#include "cli/terminal/quantities.h"

#include <fmt/format.h>

#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <optional>

#include "cli/terminal/list_items.h"
#include "engine/config/source.h"
#include "engine/core/error.h"
#include "engine/core/units.h"

namespace trainer {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& text, const std::string& help) {
  throw Error(ExitCode::usage, what + ", got " + in_quotes(text), help);
}

/// A text with open brackets or quotes is one item, which no reader takes.
std::vector<std::string> items_of(const std::string& text) {
  return list_items(text).value_or(std::vector<std::string>{text});
}

constexpr Unit kBandwidths[] = {
    {"bps", 1.0 / 8}, {"kbps", 1e3 / 8}, {"Mbps", 1e6 / 8}, {"Gbps", 1e9 / 8}, {"Tbps", 1e12 / 8}};
constexpr double kMegabyte = 1e6;
constexpr Unit kTimes[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};

std::optional<int> rank_count(const std::string& text) {
  int count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, count);
  if (problem != std::errc() || rest != end || count < 1 || count > kMaxPlannedRanks) return std::nullopt;
  return count;
}

/// Adds what lies between the last of `counts` and `end`; false if no rule leads there.
bool fill_gap(std::vector<int>& counts, int end) {
  if (counts.size() < 2) return false;
  const int before = counts[counts.size() - 2], last = counts.back();
  const auto fill = [&](const auto& next) {
    std::vector<int> filled;
    std::int64_t count = next(last);
    for (; count < end; count = next(count)) filled.push_back(static_cast<int>(count));
    if (count != end) return false;
    counts.insert(counts.end(), filled.begin(), filled.end());
    return true;
  };
  if (last % before == 0 && fill([&](std::int64_t count) { return count * (last / before); })) return true;
  return fill([&](std::int64_t count) { return count + (last - before); });
}

}  // namespace

MeshShape mesh_of_text(const std::string& text) {
  MeshShape shape;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%6dx%6d%c", &shape.data, &shape.model, &rest) != 2 || shape.data < 1 ||
      shape.model < 1)
    fail("--mesh expects DxM", text, "--mesh 2x2: 2 data ranks x 2 model ranks; --mesh auto chooses");
  return shape;
}

std::int64_t seconds_of(const std::string& text) {
  std::int64_t hours = 0, minutes = 0, seconds = 0;
  char rest = 0;
  if (std::sscanf(text.c_str(), "%6" SCNd64 ":%2" SCNd64 ":%2" SCNd64 "%c", &hours, &minutes, &seconds,
                  &rest) != 3 ||
      hours < 0 || minutes < 0 || seconds < 0 || minutes > 59 || seconds > 59 ||
      hours + minutes + seconds == 0)
    fail("--walltime expects HH:MM:SS", text, "--walltime 02:30:00: two and a half hours");
  return (hours * 60 + minutes) * 60 + seconds;
}

LiveAddress live_address(const std::string& text) {
  constexpr int kLargestPort = 65'535;
  LiveAddress address;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos) address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc{} || end != port.data() + port.size() || address.port < 0 ||
      address.port > kLargestPort || address.host.empty())
    fail("--live expects a port, or HOST:PORT", text,
         "--live 8090; or --live 0.0.0.0:8090 for other machines");
  return address;
}

std::int64_t duration_of(const std::string& text) {
  const std::optional<double> seconds = seconds_in(text);
  if (!seconds || *seconds < 1)
    fail("--time expects a time with its unit", text, "--time 30m; units are s, m, h and d");
  return static_cast<std::int64_t>(*seconds);
}

LinkCost link_of(const std::string& text) {
  const std::vector<std::string> words = items_of(text);
  const auto bandwidth = quantity(words.front(), kBandwidths);
  const auto latency = words.size() > 1 ? quantity(words[1], kTimes) : std::nullopt;
  const auto overhead = words.size() > 2 ? quantity(words[2], kTimes) : LinkCost{}.overhead;
  const auto per_megabyte = words.size() > 3 ? quantity(words[3], kTimes) : 0;
  if (words.size() > 4 || !bandwidth || *bandwidth <= 0 || !latency || !overhead || !per_megabyte)
    fail("--link expects BANDWIDTH,LATENCY[,OVERHEAD[,PER_MEGABYTE]]", text,
         "--link 10Gbps,20us: bandwidth in bps, kbps, Mbps, Gbps or Tbps, latency in ns, us, ms or s");
  return {.latency = *latency,
          .bandwidth = *bandwidth,
          .overhead = *overhead,
          .overhead_per_byte = *per_megabyte / kMegabyte};
}

std::int64_t memory_of(const std::string& text) {
  const std::optional<std::int64_t> bytes = bytes_of(text);
  if (!bytes)
    fail("--memory expects a size with its unit", text,
         "--memory 16GiB; units are kB, KiB, MB, MiB, GB, GiB");
  return *bytes;
}

StepRange step_range_of(const std::string& text) {
  const std::size_t dots = text.find("..");
  const std::string first = text.substr(0, dots),
                    last = dots == std::string::npos ? first : text.substr(dots + 2);
  StepRange range;
  const auto read = [](const std::string& word, std::int64_t& step) {
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), step);
    return error == std::errc{} && end == word.data() + word.size() && step > 0;
  };
  if (!read(first, range.first) || !read(last, range.last) || range.last < range.first)
    fail("--steps expects a range of steps", text, "--steps 100..200; the first step of a run is 1");
  return range;
}

std::vector<int> rank_counts_of(const std::string& text, bool single) {
  constexpr std::size_t kMostCounts = 64;
  const std::string what = single ? fmt::format("-n,--ranks expects a number from 1 to {}", kMaxPlannedRanks)
                                  : "-n,--ranks expects ascending numbers";
  const std::string help = single ? "-n 4" : "-n 1,2,4,8 or -n 1,2,4,...,1024";
  std::vector<int> counts;
  bool gap = false;
  for (const std::string& word : items_of(text)) {
    if (word == "..." && !gap && counts.size() > 1) {
      gap = true;
      continue;
    }
    const std::optional<int> count = rank_count(word);
    if (!count || (!counts.empty() && *count <= counts.back()) || (gap && !fill_gap(counts, *count)) ||
        counts.size() >= kMostCounts)
      fail(what, text, help);
    gap = false;
    counts.push_back(*count);
  }
  if (gap || (single && counts.size() != 1)) fail(what, text, help);
  return counts;
}

}  // namespace trainer
