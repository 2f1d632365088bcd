#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// The object in the text of a config.json, which is not trusted. Error(weights) with `place` if it is none.
nlohmann::ordered_json parse_config(std::string_view text, const std::string& place);

/// Reads such an object, every value of which may be missing or of another type. Its functions throw
/// Error(weights) with the place. A view: JSON and place must outlive it.
class ConfigReader {
 public:
  using Json = nlohmann::ordered_json;

  ConfigReader(const Json& json, const std::string& place) : json_(json), place_(place) {}

  [[noreturn]] void fail(const std::string& what, const std::string& help = "") const;
  bool has(const char* key) const;
  /// Fails unless model_type is one of these.
  std::string type(const std::vector<std::string>& known) const;
  std::int64_t count(const char* key) const;
  std::int64_t count(const char* key, std::int64_t fallback) const;
  std::vector<std::int64_t> counts(const char* key, std::vector<std::int64_t> fallback) const;
  double real(const char* key, double fallback) const;
  bool truth(const char* key, bool fallback) const;
  std::string text(const char* key, const char* fallback) const;
  /// Fails if the key has the other value.
  void require(const char* key, bool value) const;
  /// The map below a key; an empty one if there is none.
  ConfigReader map(const char* key) const;

 private:
  std::int64_t count_of(const std::string& key, const Json& value) const;

  const Json& json_;
  const std::string& place_;
};

}  // namespace trainer
