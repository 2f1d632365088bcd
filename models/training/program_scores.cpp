#include "models/training/program_scores.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <system_error>

#include "engine/config/source.h"
#include "engine/core/little_endian.h"
#include "engine/parallel/broadcast_text.h"
#include "engine/parallel/wait_for_all.h"
#include "engine/system/external_program.h"
#include "models/formats/npy.h"
#include "models/metrics/scoring_program.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// The last line with letters in it, without the blanks at its ends.
std::string_view last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end + 1);
  text.remove_prefix(text.rfind('\n') + 1);  // npos + 1 is 0
  return text.substr(text.find_first_not_of(" \t\r"));
}

/// The last bytes of a file.
std::string tail_of(const fs::path& path) {
  constexpr std::uint64_t kMost = 4096;
  const InputFile file(path, ExitCode::failure);
  std::string text(std::min(file.size(), kMost), '\0');
  file.read(file.size() - text.size(), std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

bool ProgramScores::exist(const Session& session) {
  return std::ranges::any_of(session.metrics(), [](const auto& metric) { return metric->program(); });
}

bool ProgramScores::are_needed(const Session& session) {
  return session.evaluation_data() && session.settings().evaluate.kind != Cadence::Kind::never &&
         exist(session);
}

void ProgramScores::check(const Session& session) {
  for (const auto& metric : session.metrics())
    if (metric->program()) metric->program()->check();
}

ProgramScores::Array ProgramScores::new_array(const char* name, const char* type, const Shape& row,
                                              std::int64_t rows) const {
  Array array{.path = fs::absolute(folder_ / name)};
  array.file =
      Descriptor(::open(array.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (array.file.number() < 0)
    throw Error(ExitCode::failure, fmt::format("cannot write {}: {}", array.path.string(),
                                               std::generic_category().message(errno)));
  const std::string header = npy_header(type, row.with_front(rows));
  array.row_bytes = header.size();
  array.write(0, std::as_bytes(std::span(header)));
  array.begin = header.size();
  array.row_bytes = static_cast<std::size_t>(row.size()) * sizeof(float);
  return array;
}

void ProgramScores::Array::write(std::int64_t row, std::span<const std::byte> bytes) const {
  auto place = static_cast<off_t>(begin + static_cast<std::size_t>(row) * row_bytes);
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file.number(), bytes.data(), bytes.size(), place);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw Error(ExitCode::failure,
                  fmt::format("cannot write {}: {}", path.string(), std::generic_category().message(errno)));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    place += written;
  }
}

void ProgramScores::begin(const Dataset& split) {
  if (!is_writer()) return;
  std::error_code error;
  fs::create_directory(folder_, error);
  const std::int64_t labels = split.info().labels_per_sample();
  const bool has_labels = split.classes() > 0;
  predictions_ = new_array("predictions.npy", "<f4", session_.network().output(), split.size());
  targets_ = new_array("targets.npy", has_labels ? "<i4" : "<f4",
                       !has_labels   ? split.target()
                       : labels == 1 ? Shape{}
                                     : Shape{labels},
                       split.size());
}

void ProgramScores::append_predictions(ConstTensor outputs, std::vector<float>& to) const {
  const Data& data = session_.data();
  const std::int64_t answers = data.train->positions() > 0 ? session_.labels_per_sample() : 1;
  const auto size = static_cast<std::size_t>(outputs.row_size() / answers);
  const std::size_t begin = to.size();
  for (std::span<const float> rest = outputs.span(); !rest.empty(); rest = rest.subspan(size)) {
    const RowPredictions answer(session_.loss().link(), rest.first(size));
    for (std::size_t k = 0; k < size; ++k) to.push_back(static_cast<float>(answer[k]));
  }
  const std::span<float> added = std::span(to).subspan(begin);
  if (!data.target_statistics.mean.empty()) unscale(data.target_statistics, added, added);
}

void ProgramScores::add(std::span<const std::int64_t> samples, const BatchRunner& runner) {
  // All ranks of a model group have the outputs of its rows.
  if (session_.mesh().model().rank() != 0) return;
  Communicator& data = session_.mesh().data();
  std::vector<float> outputs, values;
  std::vector<std::int32_t> labels;
  for (int worker = 0; worker < session_.pool().size(); ++worker) {
    append_predictions(runner.outputs_of(worker), outputs);
    const Targets& targets = runner.targets_of(worker);
    labels.insert(labels.end(), targets.labels.begin(), targets.labels.end());
    if (targets.values.empty()) continue;
    const std::span<const float> own = targets.values.span();
    values.insert(values.end(), own.begin(), own.end());
  }
  if (const ChannelStatistics& scaling = session_.data().target_statistics; !scaling.mean.empty())
    unscale(scaling, values, values);
  swap_if_big_endian(std::span(outputs));
  swap_if_big_endian(std::span(values));
  swap_if_big_endian(std::span(labels));
  const auto targets = labels.empty() ? std::as_bytes(std::span(std::as_const(values)))
                                      : std::as_bytes(std::span(std::as_const(labels)));
  // Rows of consecutive ranks and workers follow one another in the batch.
  for (const auto& [array, mine] :
       {std::pair{&predictions_, std::as_bytes(std::span(std::as_const(outputs)))},
        std::pair{&targets_, targets}}) {
    std::size_t row = 0;
    for (const std::vector<std::byte>& part : data.gather(mine, 0))
      for (std::span<const std::byte> rest(part); !rest.empty(); rest = rest.subspan(array->row_bytes))
        array->write(samples[row++], rest.first(array->row_bytes));
  }
}

std::optional<double> ProgramScores::score(const ScoringProgram& program,
                                           const std::function<bool()>& stop) const {
  using Clock = std::chrono::steady_clock;
  const fs::path output = folder_ / (program.name + ".out"), errors = folder_ / (program.name + ".err");
  std::optional<ExternalProgram> running;
  std::vector<std::string> words = program.command;
  words.insert(words.end(), {predictions_.path.string(), targets_.path.string()});
  if (is_writer()) running.emplace(ExternalProgram::Options{words, output, errors});

  const auto end = Clock::now() + std::chrono::seconds(program.timeout);
  std::optional<int> code;
  bool is_late = false, is_stopped = false;
  int progress = 0;
  const auto is_done = [&] {
    if (!running) return true;
    code = running->poll();
    is_stopped = !code && stop();
    is_late = !code && Clock::now() > end;
    return code || is_stopped || is_late;
  };
  // Its time is limited here, not by the patience of the ranks that wait.
  wait_for_all(session_.mesh().world(), "a program of train.metrics", is_done, [&] { return ++progress; });
  running.reset();

  std::array<double, 2> result{is_stopped ? 1.0 : 0.0, 0};
  std::string problem, details;
  if (is_writer() && !is_stopped) {
    const std::string printed = tail_of(output);
    const std::string_view line = last_line(printed);
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), result[1]);
    const bool is_number =
        error == std::errc() && rest == line.data() + line.size() && std::isfinite(result[1]);
    if (is_late)
      problem = fmt::format("does not end within {} seconds", program.timeout);
    else if (*code != 0)
      problem = fmt::format("ended with code {}", *code);
    else if (!is_number)
      problem = line.empty() ? "printed nothing, and its last line shall be its score"
                             : "printed " + in_quotes(line) + ", and its last line shall be its score";
    if (!problem.empty()) details = last_line(tail_of(errors));
  }
  session_.mesh().world().broadcast(std::as_writable_bytes(std::span(result)), 0);
  broadcast_text(session_.mesh().world(), problem);
  broadcast_text(session_.mesh().world(), details);
  if (!problem.empty()) {
    const std::string where =
        fmt::format("what it printed is in {0}/{1}.out and {1}.err", folder_.string(), program.name);
    Diagnostic failure = program.config.diagnostic(
        "command", fmt::format("the program of the metric {} {}", program.name, problem),
        stays_ ? where : "");
    if (!details.empty()) failure.notes.push_back(details);
    throw Error(ExitCode::failure, {failure});
  }
  if (result[0] != 0) return std::nullopt;
  return result[1];
}

bool ProgramScores::run(Scores& scores, const std::function<bool()>& stop) {
  predictions_.file.close();
  targets_.file.close();
  for (std::size_t i = 0; i < session_.metrics().size(); ++i) {
    if (!session_.metrics()[i]->program()) continue;
    const std::optional<double> value = score(*session_.metrics()[i]->program(), stop);
    if (!value) return false;
    scores.metrics[i] = *value;
  }
  return true;
}

}  // namespace trainer
