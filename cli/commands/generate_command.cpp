#include <algorithm>
#include <cmath>
#include <map>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/trained_run.h"
#include "engine/config/source.h"
#include "engine/core/random.h"
#include "models/training/batch_statistics.h"

namespace trainer {
namespace {

/// The text as tokens, each the longest that fits.
std::vector<std::int64_t> tokens_of(const std::string& text, const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> token_of;
  std::size_t longest = 1;
  for (std::size_t token = 0; token < texts.size(); ++token) {
    token_of.emplace(texts[token], static_cast<std::int64_t>(token));
    longest = std::max(longest, texts[token].size());
  }
  std::vector<std::int64_t> tokens;
  for (std::size_t at = 0; at < text.size();) {
    auto found = token_of.end();
    for (std::size_t length = std::min(longest, text.size() - at); length > 0 && found == token_of.end();
         --length)
      found = token_of.find(text.substr(at, length));
    if (found == token_of.end())
      throw Error(ExitCode::usage,
                  "the text that the run learned from has nothing like " + in_quotes(text.substr(at)),
                  "another --prompt");
    tokens.push_back(found->second);
    at += found->first.size();
  }
  return tokens;
}

/// What the model makes of one sequence, on the worker that has it: a row of scores for each position.
void score(Session& session, std::span<const std::int64_t> tokens, std::span<float> scores) {
  Network& network = session.network();
  constexpr std::int64_t kSample = 0;
  const auto length = static_cast<std::int32_t>(tokens.size());
  session.pool().run([&](int worker) {
    const Range rows = session.blocks().rows(network.blocks_of(worker), 1);
    const Tensor x = network.input(worker, rows.count());
    if (rows.count() > 0) {
      std::ranges::fill(x.span(), 0.0f);
      std::ranges::copy(tokens, x.data());
    }
    const auto count = static_cast<std::size_t>(rows.count());
    const ConstTensor y = network.forward(worker, {.mode = Mode::evaluation,
                                                   .samples = std::span(&kSample, count),
                                                   .batch_rows = 1,
                                                   .lengths = std::span(&length, count)});
    if (rows.count() > 0)
      std::ranges::copy(y.span().subspan((tokens.size() - 1) * scores.size(), scores.size()), scores.begin());
  });
}

/// One of the tokens, by chance: `uniform` is in [0, 1).
std::int64_t chosen(std::span<float> scores, double temperature, float uniform) {
  const auto best = std::ranges::max_element(scores);
  if (temperature == 0) return best - scores.begin();
  const double highest = *best;
  std::vector<double> sums;
  double sum = 0;
  for (const float one : scores)
    sums.push_back(sum += std::exp((static_cast<double>(one) - highest) / temperature));
  const auto place = std::ranges::upper_bound(sums, uniform * sum);
  return std::min<std::int64_t>(place - sums.begin(), std::ssize(sums) - 1);
}

}  // namespace

void generate_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  if (job.world.size() > 1)
    throw Error(ExitCode::ranks, "generate is for one process", "leave the launcher out");
  MeshAndThreads work(job);
  const std::string& path = arguments.files.front();
  TrainedRun trained = open_trained(path, arguments.overrides, work.mesh, work.pool);
  Session& session = trained.session();
  const std::vector<std::string> texts = session.data().sources.front()->token_texts();
  if (texts.empty())
    throw Error(ExitCode::usage, path + " is not for generate: it did not learn from a text",
                "trainer predict ...");
  std::vector<std::int64_t> tokens = tokens_of(arguments.prompt, texts);
  if (tokens.empty()) throw Error(ExitCode::usage, "--prompt is empty", "--prompt 'The '");
  BatchStatistics team(work.mesh, work.pool, true, session.exact_blocks());
  session.network().attach(trained.values, {}, team);
  const auto window = static_cast<std::size_t>(session.data().train->positions());
  const RandomStream random(session.settings().seed, "generate");
  std::vector<float> scores(texts.size());
  job.print(arguments.prompt);
  for (std::int64_t i = 0; i < arguments.tokens; ++i) {
    const std::size_t known = std::min(tokens.size(), window);
    score(session, std::span(tokens).last(known), scores);
    tokens.push_back(chosen(scores, arguments.temperature, random.uniform(static_cast<std::uint64_t>(i))));
    job.print(texts[static_cast<std::size_t>(tokens.back())]);
    std::fflush(stdout);
  }
  job.print("\n");
}

}  // namespace trainer
