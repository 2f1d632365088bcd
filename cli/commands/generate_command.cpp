#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/trained_model.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "datasets/inputs/text_samples.h"
#include "models/checkpoints/run_directory.h"
#include "models/prediction/text_generator.h"

namespace trainer {
namespace {

/// The prompts of the command line.
class GivenPrompts final : public SampleSource {
 public:
  explicit GivenPrompts(const std::vector<std::string>& prompts) : prompts_(prompts) {}
  Next next(RawSample& sample, bool) override {
    if (next_ == prompts_.size()) return Next::end;
    sample = {.file = "--prompt", .bytes = prompts_[next_++]};
    return Next::sample;
  }

 private:
  const std::vector<std::string>& prompts_;
  std::size_t next_ = 0;
};

std::unique_ptr<SampleSource> prompts_of(const Arguments& arguments) {
  if (!arguments.prompts.empty()) return std::make_unique<GivenPrompts>(arguments.prompts);
  if (arguments.prompt_file.empty())
    throw Error(ExitCode::usage, "generate has no text to continue",
                "--prompt TEXT, or --prompts FILE with a prompt a line");
  if (arguments.prompt_file == "-") return line_samples(InputText(STDIN_FILENO, "standard input"));
  return line_samples(InputText(arguments.prompt_file));
}

/// A prompt and its continuation.
struct Answer {
  RawSample prompt;
  std::uint64_t number = 0;
  std::vector<Token> tokens = {};
  std::string text = {};
};

/// Up to `most` prompts: those that the source has, at least one; none at its end.
std::vector<Answer> next_answers(SampleSource& source, std::size_t most, std::uint64_t& number) {
  std::vector<Answer> answers;
  RawSample sample;
  while (answers.size() < most && source.next(sample, answers.empty()) == SampleSource::Next::sample)
    answers.push_back({.prompt = std::move(sample), .number = number++});
  return answers;
}

/// Encodes a prompt; where that cannot be, its problem has the reason.
void encode(const Tokenizer& tokenizer, Answer& answer) {
  if (!answer.prompt.problem.empty()) return;
  const std::string place = answer.prompt.place > 0
                                ? fmt::format("{}:{}", answer.prompt.file, answer.prompt.place)
                                : answer.prompt.file;
  if (answer.prompt.bytes.empty()) {
    answer.prompt.problem = place + ": there is no text to continue";
    return;
  }
  try {
    answer.tokens = tokenizer.encode(answer.prompt.bytes);
  } catch (const Error& error) {
    answer.prompt.problem = place + ": " + problem_text(error);
  }
}

/// Writes answers as people or programs read them.
class AnswerWriter {
 public:
  explicit AnswerWriter(bool as_json) : as_json_(as_json) {}

  void begin(const Answer& answer) {
    if (as_json_) return;
    if (any_) stream_.add("\n");
    any_ = true;
    stream_.add(answer.prompt.bytes);
  }
  void add(std::string_view piece) const {
    if (!as_json_) stream_.add(piece);
  }
  void end(const Answer& answer) const {
    if (as_json_)
      print_bytes(fmt::format("{{\"prompt\":{},\"text\":{}}}\n", json_text(answer.prompt.bytes),
                              json_text(answer.text)));
    else
      stream_.add("\n");
    flush_output();
  }

 private:
  bool as_json_, any_ = false;
  TextStream stream_;
};

}  // namespace

int generate_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  require_one_process(job);
  MeshAndThreads work(job);
  const TrainedModel model = open_model(job, work);
  if (model.data.tokenizer.empty())
    throw Error(ExitCode::usage,
                arguments.files.front() + " is not for generate: it was not trained on a text",
                "trainer predict ...");
  const std::unique_ptr<SampleSource> source = prompts_of(arguments);
  const Config root = model.config.root();
  const Continuation continuation{
      .tokens = arguments.tokens,
      .choice = {arguments.temperature, arguments.top_k, arguments.top_p},
      .stops = arguments.stops,
      .seed = static_cast<std::uint64_t>(root.at("train").get<std::int64_t>("seed"))};
  TextGenerator generator(root, model.data, work.pool.size());
  generator.load(model.checkpoint.path / kModelFile);

  AnswerWriter writer(arguments.prediction_format == PredictionFormat::json);
  std::uint64_t number = 0;
  std::int64_t skipped = 0;
  while (true) {
    std::vector<Answer> answers = next_answers(*source, static_cast<std::size_t>(work.pool.size()), number);
    if (answers.empty()) break;
    for (Answer& answer : answers) encode(generator.tokenizer(), answer);
    // The first one is written as it comes, the others when those before them are.
    work.pool.run([&](int worker) {
      const auto index = static_cast<std::size_t>(worker);
      if (index >= answers.size() || !answers[index].prompt.problem.empty()) return;
      Answer& answer = answers[index];
      if (index == 0) writer.begin(answer);
      generator.generate(worker, answer.tokens, answer.number, continuation, [&](std::string_view piece) {
        answer.text += piece;
        if (index == 0) writer.add(piece);
      });
    });
    for (std::size_t index = 0; index < answers.size(); ++index) {
      const Answer& answer = answers[index];
      if (!answer.prompt.problem.empty()) {
        // A mistake in the command line ends it; a line of a file is skipped.
        if (!arguments.prompts.empty()) throw Error(ExitCode::usage, answer.prompt.problem);
        ++skipped;
        job.warn("skipped " + answer.prompt.problem + "\n");
        continue;
      }
      if (index > 0) {
        writer.begin(answer);
        writer.add(answer.text);
      }
      writer.end(answer);
    }
  }
  if (skipped > 0)
    job.warn(fmt::format("{} of {} skipped\n", grouped(skipped),
                         counted(static_cast<std::int64_t>(number), "prompt")));
  return static_cast<int>(skipped > 0 ? ExitCode::data : ExitCode::ok);
}

}  // namespace trainer
