#include "models/huggingface/config_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/source.h"
#include "engine/core/error.h"

namespace trainer {

nlohmann::ordered_json parse_config(std::string_view text, const std::string& place) {
  ConfigReader::Json json;
  try {
    json = ConfigReader::Json::parse(text);
  } catch (const nlohmann::json::exception&) {
    json = nullptr;
  }
  if (!json.is_object())
    ConfigReader(json, place).fail("not a config.json of Hugging Face: it is no JSON object");
  return json;
}

void ConfigReader::fail(const std::string& what, const std::string& help) const {
  throw Error(ExitCode::weights, {Diagnostic{.what = what, .place = place_, .help = help}});
}

bool ConfigReader::has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

std::string ConfigReader::type(const std::vector<std::string>& known) const {
  std::string type = text("model_type", "");
  if (std::ranges::find(known, type) == known.end())
    fail(type.empty() ? "it has no model_type" : "its model_type is " + in_quotes(type),
         fmt::format("a model of the type {}", fmt::join(known, " or ")));
  return type;
}

std::int64_t ConfigReader::count_of(const std::string& key, const Json& value) const {
  constexpr std::int64_t kMost = 1'000'000'000;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() - 1 >= std::uint64_t{kMost})
    fail(fmt::format("{} is not a whole number from 1 to {}", key, kMost));
  return value.get<std::int64_t>();
}

std::int64_t ConfigReader::count(const char* key) const {
  if (!has(key)) fail(fmt::format("it has no {}", key));
  return count_of(key, json_.at(key));
}

std::int64_t ConfigReader::count(const char* key, std::int64_t fallback) const {
  return has(key) ? count(key) : fallback;
}

std::vector<std::int64_t> ConfigReader::counts(const char* key, std::vector<std::int64_t> fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_array() || json_.at(key).empty()) fail(fmt::format("{} is not a list", key));
  std::vector<std::int64_t> result;
  for (const Json& value : json_.at(key))
    result.push_back(count_of(fmt::format("an item of {}", key), value));
  return result;
}

double ConfigReader::real(const char* key, double fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_number() || !(json_.at(key).get<double>() > 0))
    fail(fmt::format("{} is not a number above 0", key));
  return json_.at(key).get<double>();
}

bool ConfigReader::truth(const char* key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_boolean()) fail(fmt::format("{} is not true or false", key));
  return json_.at(key).get<bool>();
}

std::string ConfigReader::text(const char* key, const char* fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_string()) fail(fmt::format("{} is not a text", key));
  return json_.at(key).get<std::string>();
}

void ConfigReader::require(const char* key, bool value) const {
  if (truth(key, value) != value) fail(fmt::format("{} is {}: layers here do not compute that", key, !value));
}

ConfigReader ConfigReader::map(const char* key) const {
  static const Json kNone = Json::object();
  if (has(key) && !json_.at(key).is_object()) fail(fmt::format("{} is not a map", key));
  return {has(key) ? json_.at(key) : kNone, place_};
}

}  // namespace trainer
