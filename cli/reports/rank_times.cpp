#include "cli/reports/rank_times.h"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <sstream>

#include "cli/reports/html.h"
#include "cli/terminal/text.h"

namespace trainer {
namespace {

constexpr const char* kHead = "rank,computing,data,communication,waiting\n";
constexpr std::array<const char*, 4> kParts{"computing", "data", "communication", "waiting"};

using Times = std::array<double, kParts.size()>;

std::vector<Times> parsed(const std::string& csv) {
  std::vector<Times> ranks;
  std::istringstream lines(csv);
  std::string line;
  if (!std::getline(lines, line) || line + "\n" != kHead) return {};
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    double rank = 0;
    Times times{};
    char comma = ',';
    fields >> rank;
    for (double& time : times) fields >> comma >> time;
    if (!fields || comma != ',') return {};
    ranks.push_back(times);
  }
  return ranks;
}

}  // namespace

std::string rank_times_csv(const std::vector<RankTimes>& ranks) {
  std::string csv = kHead;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    csv += fmt::format("{},{:.3f},{:.3f},{:.3f},{:.3f}\n", rank, ranks[rank].computing, ranks[rank].data,
                       ranks[rank].communication, ranks[rank].waiting);
  return csv;
}

std::string rank_times_html(const std::string& csv) {
  const std::vector<Times> ranks = parsed(csv);
  if (ranks.empty()) return "";
  constexpr std::size_t kMostBars = 64;
  std::string legend, bars;
  for (std::size_t part = 0; part < kParts.size(); ++part)
    legend += fmt::format(R"( <span class="c{}">{}</span>)", part, kParts[part]);
  std::vector<std::vector<std::string>> rows{{"rank", "time"}};
  rows.front().insert(rows.front().end(), kParts.begin(), kParts.end());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const double all = std::accumulate(ranks[rank].begin(), ranks[rank].end(), 0.0);
    std::string bar;
    rows.push_back({fmt::format("{}", rank), seconds_text(all)});
    for (std::size_t part = 0; part < kParts.size(); ++part) {
      const double share = all > 0 && ranks[rank][part] > 0 ? 100 * ranks[rank][part] / all : 0;
      if (share > 0)
        bar += fmt::format(R"(<i class="c{}" style="width:{:.1f}%" title="{} {}"></i>)", part, share,
                           kParts[part], seconds_text(ranks[rank][part]));
      rows.back().push_back(fmt::format("{:.1f}%", share));
    }
    if (rank < kMostBars) bars += fmt::format("<div><span>{}</span>{}</div>\n", rank, bar);
  }
  return fmt::format(
      "<h2>Where the time went</h2>\n<p>Of each rank, in the steps of the last start of the run:{}.</p>\n"
      "<div class=\"bars\">\n{}</div>\n{}",
      legend, bars, html_folded(counted(std::ssize(ranks), "rank"), html_table(rows)));
}

}  // namespace trainer
