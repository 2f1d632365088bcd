#include <algorithm>
#include <cmath>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/trained_run.h"
#include "cli/terminal/output.h"
#include "engine/config/source.h"
#include "engine/core/random.h"
#include "models/training/evaluated_network.h"

namespace trainer {
namespace {

/// Writes the scores of the token that follows `tokens`, one for each token of the vocabulary.
void score_next(Session& session, std::span<const Token> tokens, std::span<float> scores) {
  Network& network = session.network();
  constexpr std::int64_t kSample = 0;
  const auto length = static_cast<std::int32_t>(tokens.size());
  session.pool().run([&](int worker) {
    const Range rows = session.virtual_workers().rows(network.virtual_workers_of(worker), 1);
    const Tensor x = network.input(worker, rows.count());
    if (rows.count() > 0) {
      std::ranges::fill(x.span(), 0.0f);
      std::ranges::transform(tokens, x.data(), [](Token token) { return static_cast<float>(token); });
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

/// Samples a token from softmax(scores / temperature) by `uniform` in [0, 1); the best one if temperature is
/// 0.
Token sampled_token(std::span<float> scores, double temperature, float uniform) {
  const auto best = std::ranges::max_element(scores);
  if (temperature == 0) return static_cast<Token>(best - scores.begin());
  const double highest = *best;
  std::vector<double> sums;
  double sum = 0;
  for (const float score : scores)
    sums.push_back(sum += std::exp((static_cast<double>(score) - highest) / temperature));
  const auto place = std::ranges::upper_bound(sums, uniform * sum);
  return static_cast<Token>(std::min<std::int64_t>(place - sums.begin(), std::ssize(sums) - 1));
}

}  // namespace

void generate_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  if (job.world.size() > 1)
    throw Error(ExitCode::ranks, "generate is for one process", "start it without mpirun");
  MeshAndThreads work(job);
  const std::string& path = arguments.files.front();
  TrainedRun trained = open_trained(path, arguments.overrides, work.mesh, work.pool);
  Session& session = trained.session();
  const Tokenizer* const tokenizer = session.data().train->info().tokenizer;
  if (tokenizer == nullptr)
    throw Error(ExitCode::usage, path + " is not for generate: it was not trained on a text",
                "trainer predict ...");
  std::vector<Token> tokens = tokenizer->encode(arguments.prompt);
  if (tokens.empty()) throw Error(ExitCode::usage, "--prompt is empty", "--prompt 'The '");
  const EvaluatedNetwork evaluated(session, trained.values);
  const auto window = static_cast<std::size_t>(session.data().train->positions());
  const RandomStream random(session.settings().seed, "generate");
  std::vector<float> scores(static_cast<std::size_t>(tokenizer->vocabulary()));
  TextStream output;
  output.add(arguments.prompt);
  for (std::int64_t i = 0; i < arguments.tokens; ++i) {
    const std::size_t known = std::min(tokens.size(), window);
    score_next(session, std::span(tokens).last(known), scores);
    tokens.push_back(
        sampled_token(scores, arguments.temperature, random.uniform(static_cast<std::uint64_t>(i))));
    output.add(tokenizer->decode(std::span(tokens).last(1)));
  }
  output.add("\n");
}

}  // namespace trainer
