#include "models/checkpoints/checkpoint_state.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "engine/core/error.h"
#include "engine/system/crc32.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 4;
constexpr std::size_t kMaxFiles = 100;
constexpr const char* kSealKey = "crc32";  // of the text without it

/// JSON knows no infinity, which the loss of an evaluation may be.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json of_numbers(const std::vector<double>& numbers) {
  Json list = Json::array();
  for (const double one : numbers) list.push_back(number(one));
  return list;
}

Json of_scores(const Scores& scores) {
  return {
      {"samples", scores.samples}, {"loss", number(scores.loss)}, {"metrics", of_numbers(scores.metrics)}};
}

auto fields(auto& times) {
  return std::array{&times.training,  &times.data,   &times.reduce,
                    &times.consensus, &times.update, &times.publish};
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

/// A JSON document that may hold anything; every look into it is checked.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  Reader at(const char* key) const {
    if (!json_.is_object() || !json_.contains(key)) fail(fmt::format("it has no {}", key));
    return Reader(json_[key]);
  }
  std::int64_t count() const {
    if (!json_.is_number_integer() ||
        (json_.is_number_unsigned() && !std::in_range<std::int64_t>(json_.get<std::uint64_t>())))
      fail("a whole number is missing");
    const auto value = json_.get<std::int64_t>();
    if (value < 0) fail("a number is negative");
    return value;
  }
  /// A count that more will be added to.
  std::int64_t summand() const {
    constexpr std::int64_t kMax = 1'000'000'000'000'000'000;  // nanoseconds of thirty years
    const std::int64_t value = count();
    if (value > kMax) fail("a number is out of its range");
    return value;
  }
  double real() const {
    if (json_ == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (json_ == "inf") return std::numeric_limits<double>::infinity();
    if (json_ == "-inf") return -std::numeric_limits<double>::infinity();
    if (!json_.is_number()) fail("a number is missing");
    return json_.get<double>();
  }
  std::string text() const {
    if (!json_.is_string()) fail("a text is missing");
    return json_.get<std::string>();
  }
  double seconds() const {
    constexpr double kMax = 1e9;  // thirty years
    const double value = real();
    if (!(value >= 0 && value <= kMax)) fail("a time is out of its range");
    return value;
  }
  bool truth() const {
    if (!json_.is_boolean()) fail("a truth is missing");
    return json_.get<bool>();
  }
  Scores scores() const {
    return {
        .samples = at("samples").summand(), .loss = at("loss").real(), .metrics = at("metrics").numbers()};
  }
  std::vector<double> numbers() const {
    if (!json_.is_array() || json_.size() > CheckpointState::kMaxNumbers)
      fail("a list of values is missing or too long");
    std::vector<double> numbers;
    for (const Json& one : json_) numbers.push_back(Reader(one).real());
    return numbers;
  }
  std::optional<Scores> scores_if_any() const {
    if (json_.is_null()) return std::nullopt;
    return scores();
  }
  StepTimes times() const {
    StepTimes times;
    const auto all = fields(times);
    if (!json_.is_array() || json_.size() != all.size()) fail("times are missing");
    for (std::size_t i = 0; i < all.size(); ++i)
      *all[i] = std::chrono::nanoseconds(Reader(json_[i]).summand());
    return times;
  }
  std::map<std::string, FileSeal> files() const {
    if (!json_.is_object() || json_.size() > kMaxFiles) fail("the map of files is missing or too long");
    std::map<std::string, FileSeal> files;
    for (const auto& [name, seal] : json_.items()) {
      const std::int64_t crc = Reader(seal).at("crc32").count();
      if (!std::in_range<std::uint32_t>(crc)) fail("a checksum is too large");
      files[name] = {.bytes = static_cast<std::uint64_t>(Reader(seal).at("bytes").count()),
                     .crc32 = static_cast<std::uint32_t>(crc)};
    }
    return files;
  }
  [[noreturn]] static void fail(const std::string& what) {
    throw Error(ExitCode::weights, "is damaged: " + what);
  }

 private:
  const Json& json_;
};

Json parsed(std::string_view text) {
  // Nothing that text_of() writes is nested deeper.
  constexpr int kDeepest = 4;
  const auto guard = [](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest) throw std::runtime_error("it is nested too deeply");
    return true;
  };
  try {
    return Json::parse(text, guard);
  } catch (const std::exception&) {
    // Whatever does not parse is not what was summed; its text would mean nothing to the user.
    Reader::fail("its checksum is wrong");
  }
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
            {"time", number(state.time)},
            {"epoch_time", number(state.epoch_time)},
            {"run_times", of_times(state.run_times)},
            {"epoch_times", of_times(state.epoch_times)},
            {"epoch_sums", of_scores(state.epoch_sums)},
            {"best", state.best ? of_scores(*state.best) : Json()},
            {"best_step", state.best_step},
            {"best_epoch", state.best_epoch},
            {"last", state.last ? of_scores(*state.last) : Json()},
            {"schedule", of_numbers(state.schedule)},
            {"early_stopping", of_numbers(state.early_stopping)},
            {"files", files}};
  json[kSealKey] = seal_of(json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

CheckpointState parse_checkpoint_state(std::string_view text) {
  Json json = parsed(text);
  const Reader reader(json);
  const std::int64_t format = reader.at("format").count();
  if (format != kFormat)
    throw Error(ExitCode::weights,
                fmt::format("has format {}, this program reads format {}", format, kFormat),
                "resume with the version of the program that saved it");
  const std::int64_t seal = reader.at(kSealKey).count();
  json.erase(kSealKey);
  if (seal != seal_of(json)) Reader::fail("its checksum is wrong");
  CheckpointState state{.step = reader.at("step").count(),
                        .steps_per_epoch = reader.at("steps_per_epoch").count(),
                        .seed = static_cast<std::uint64_t>(reader.at("seed").count()),
                        .data = reader.at("data").text(),
                        // Older checkpoints lack these keys.
                        .config = json.contains("config") ? reader.at("config").text() : "",
                        .engine = json.contains("engine") ? reader.at("engine").text() : "",
                        .evaluated = reader.at("evaluated").truth(),
                        .time = reader.at("time").seconds(),
                        .epoch_time = reader.at("epoch_time").seconds(),
                        .run_times = reader.at("run_times").times(),
                        .epoch_times = reader.at("epoch_times").times(),
                        .epoch_sums = reader.at("epoch_sums").scores(),
                        .best = reader.at("best").scores_if_any(),
                        .last = reader.at("last").scores_if_any(),
                        .best_step = reader.at("best_step").count(),
                        .schedule = reader.at("schedule").numbers(),
                        .early_stopping = json.contains("early_stopping")
                                              ? reader.at("early_stopping").numbers()
                                              : std::vector<double>{},
                        .files = reader.at("files").files()};
  const std::int64_t best_epoch = reader.at("best_epoch").count();
  if (!std::in_range<int>(best_epoch) || state.steps_per_epoch < 1)
    Reader::fail("a number is out of its range");
  state.best_epoch = static_cast<int>(best_epoch);
  return state;
}

}  // namespace trainer
