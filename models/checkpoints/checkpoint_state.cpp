#include "models/checkpoints/checkpoint_state.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/core/error.h"
#include "engine/core/sha256.h"
#include "engine/system/crc32.h"
#include "models/checkpoints/json_reader.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 4;
constexpr std::size_t kMaxFiles = 100;
constexpr std::int64_t kMostParts = 1 << 20;  // of Session::parts_of_batch()
constexpr const char* kSealKey = "crc32";     // of the text without it

Json of_numbers(const std::vector<double>& numbers) {
  Json list = Json::array();
  for (const double one : numbers) list.push_back(real_json(one));
  return list;
}

Json of_scores(const Scores& scores) {
  return {
      {"samples", scores.samples}, {"loss", real_json(scores.loss)}, {"metrics", of_numbers(scores.metrics)}};
}

auto fields(auto& times) {
  return std::array{&times.training, &times.data,        &times.reduce,     &times.consensus,
                    &times.update,   &times.publish,     &times.statistics, &times.arrivals,
                    &times.waiting,  &times.mean_waiting};
}

Json of_times(const StepTimes& times) {
  Json list = Json::array();
  for (const auto* time : fields(times)) list.push_back(time->count());
  return list;
}

std::uint32_t seal_of(const Json& state) {
  const std::string text = state.dump(-1, ' ', false, Json::error_handler_t::replace);
  return crc32_of(std::as_bytes(std::span(text)));
}

double seconds_of(const JsonReader& json) {
  constexpr double kMax = 1e9;  // thirty years
  const double value = json.real();
  if (!(value >= 0 && value <= kMax)) JsonReader::fail("a time is out of its range");
  return value;
}

std::vector<double> numbers_of(const JsonReader& json) {
  std::vector<double> numbers;
  for (const JsonReader& one : json.items(CheckpointState::kMaxNumbers)) numbers.push_back(one.real());
  return numbers;
}

Scores scores_of(const JsonReader& json) {
  return {.samples = json.at("samples").count(JsonReader::kLargestSummand),
          .loss = json.at("loss").real(),
          .metrics = numbers_of(json.at("metrics"))};
}

std::optional<Scores> scores_if_any(const JsonReader& json) {
  if (json.json().is_null()) return std::nullopt;
  return scores_of(json);
}

StepTimes times_of(const JsonReader& json) {
  StepTimes times;
  const auto all = fields(times);
  const std::vector<JsonReader> items = json.items(all.size());
  constexpr std::size_t kOfEarlier = 6;  // programs
  if (items.size() != all.size() && items.size() != kOfEarlier) JsonReader::fail("times are missing");
  for (std::size_t i = 0; i < items.size(); ++i)
    *all[i] = std::chrono::nanoseconds(items[i].count(JsonReader::kLargestSummand));
  return times;
}

std::map<std::string, FileSeal> files_of(const JsonReader& json) {
  if (!json.json().is_object() || json.json().size() > kMaxFiles)
    JsonReader::fail("the map of files is missing or too long");
  std::map<std::string, FileSeal> files;
  for (const auto& [name, seal] : json.json().items())
    files[name] = {.bytes = static_cast<std::uint64_t>(JsonReader(seal).at("bytes").count()),
                   .crc32 = static_cast<std::uint32_t>(JsonReader(seal).at("crc32").count(UINT32_MAX))};
  return files;
}

}  // namespace

std::string text_of(const CheckpointState& state) {
  Json files = Json::object();
  for (const auto& [name, seal] : state.files) files[name] = {{"bytes", seal.bytes}, {"crc32", seal.crc32}};
  Json json{{"format", kFormat},
            {"step", state.step},
            {"epoch", state.step / state.steps_per_epoch},
            {"step_in_epoch", state.step % state.steps_per_epoch},
            {"steps_per_epoch", state.steps_per_epoch},
            {"evaluated", state.evaluated},
            {"seed", state.seed},
            {"data", state.data},
            {"config", state.config},
            {"engine", state.engine},
            {"time", real_json(state.time)},
            {"epoch_time", real_json(state.epoch_time)},
            {"run_times", of_times(state.run_times)},
            {"epoch_times", of_times(state.epoch_times)},
            {"epoch_sums", of_scores(state.epoch_sums)},
            {"best", state.best ? of_scores(*state.best) : Json()},
            {"best_step", state.best_step},
            {"best_epoch", state.best_epoch},
            {"last", state.last ? of_scores(*state.last) : Json()},
            {"schedule", of_numbers(state.schedule)},
            {"early_stopping", of_numbers(state.early_stopping)},
            {"outliers", of_numbers(state.outliers)},
            {"rollbacks", state.rollbacks},
            {"files", files}};
  if (!state.chain.empty()) json["chain"] = state.chain;
  if (!state.rank_shares.empty()) json["rank_shares"] = state.rank_shares;
  json[kSealKey] = seal_of(json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

CheckpointState parse_checkpoint_state(std::string_view text) {
  constexpr int kDeepest = 4;  // of what text_of() writes
  Json json = parse_json(text, kDeepest);
  const JsonReader reader(json);
  const std::int64_t format = reader.at("format").count();
  if (format != kFormat)
    throw Error(ExitCode::weights,
                fmt::format("has format {}, this program reads format {}", format, kFormat),
                "resume with the version of the program that saved it");
  const std::int64_t seal = reader.at(kSealKey).count();
  json.erase(kSealKey);
  if (seal != seal_of(json)) JsonReader::fail("its checksum is wrong");
  CheckpointState state{
      .step = reader.at("step").count(),
      .steps_per_epoch = reader.at("steps_per_epoch").count(),
      .seed = static_cast<std::uint64_t>(reader.at("seed").count()),
      .data = reader.at("data").text(),
      // Older checkpoints lack these keys.
      .config = json.contains("config") ? reader.at("config").text() : "",
      .engine = json.contains("engine") ? reader.at("engine").text() : "",
      .evaluated = reader.at("evaluated").truth(),
      .time = seconds_of(reader.at("time")),
      .epoch_time = seconds_of(reader.at("epoch_time")),
      .run_times = times_of(reader.at("run_times")),
      .epoch_times = times_of(reader.at("epoch_times")),
      .epoch_sums = scores_of(reader.at("epoch_sums")),
      .best = scores_if_any(reader.at("best")),
      .last = scores_if_any(reader.at("last")),
      .best_step = reader.at("best_step").count(),
      .schedule = numbers_of(reader.at("schedule")),
      .early_stopping =
          json.contains("early_stopping") ? numbers_of(reader.at("early_stopping")) : std::vector<double>{},
      .outliers = json.contains("outliers") ? numbers_of(reader.at("outliers")) : std::vector<double>{},
      .files = files_of(reader.at("files"))};
  const std::int64_t best_epoch = reader.at("best_epoch").count(),
                     rollbacks = json.contains("rollbacks") ? reader.at("rollbacks").count() : 0;
  if (!std::in_range<int>(best_epoch) || !std::in_range<int>(rollbacks) || state.steps_per_epoch < 1)
    JsonReader::fail("a number is out of its range");
  state.best_epoch = static_cast<int>(best_epoch);
  state.rollbacks = static_cast<int>(rollbacks);
  if (json.contains("chain")) {
    state.chain = reader.at("chain").text();
    if (!digest_of_hex(state.chain)) JsonReader::fail("its chain value is not 64 hexadecimal digits");
  }
  if (json.contains("rank_shares"))
    for (const JsonReader& one : reader.at("rank_shares").items(CheckpointState::kMaxNumbers))
      state.rank_shares.push_back(one.count(kMostParts));
  return state;
}

}  // namespace trainer
