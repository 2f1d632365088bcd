#include "cli/search/spread.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "cli/terminal/text.h"

namespace trainer {

std::vector<Spread> spreads_of(const std::vector<EndedTrial>& trials, const ScoreFacts& facts) {
  std::vector<Spread> spreads{{.name = facts.split + " loss"}};
  for (const MetricFacts& metric : facts.metrics)
    spreads.push_back({.name = facts.split + " " + metric.name});
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    Spread& spread = spreads[i];
    double count = 0, squares = 0;
    for (const EndedTrial& one : trials)
      if (!one.outcome.has_failed()) spread.mean += one.outcome.scores[i], ++count;
    spread.mean /= count;
    for (const EndedTrial& one : trials)
      if (!one.outcome.has_failed()) squares += std::pow(one.outcome.scores[i] - spread.mean, 2);
    spread.deviation =
        count > 1 ? std::sqrt(squares / (count - 1)) : std::numeric_limits<double>::quiet_NaN();
  }
  return spreads;
}

std::string spread_lines(const TrialTable& table, const std::vector<Spread>& spreads,
                         const ScoreFacts& facts) {
  const std::size_t before = table.titles().size() - spreads.size();
  std::vector<std::string> means(before), deviations(before);
  means.front() = "mean";
  deviations.front() = "dev.";
  for (std::size_t i = 0; i < spreads.size(); ++i) {
    const auto text = [&](double value) {
      return i == 0 ? loss_text(value) : metric_text(facts.metrics[i - 1], value, 2);
    };
    means.push_back(text(spreads[i].mean));
    deviations.push_back(text(spreads[i].deviation));
  }
  return table.joined(means) + "\n" + table.joined(deviations) + "\n";
}

std::string spread_csv(const std::vector<Spread>& spreads, std::size_t trials) {
  std::string text = "score,mean,deviation,runs\n";
  for (const Spread& spread : spreads)
    text += fmt::format("{},{:.9g},{},{}\n", spread.name, spread.mean,
                        std::isnan(spread.deviation) ? "" : fmt::format("{:.9g}", spread.deviation), trials);
  return text;
}

}  // namespace trainer
