#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// A JSON document of a checkpoint, which may hold anything: every look into it is checked. Error(weights),
/// whose text lacks the file's name, for what is missing or of another type.
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;
  /// Whole numbers that more will be added to, such as nanoseconds of thirty years.
  static constexpr std::int64_t kLargestSummand = 1'000'000'000'000'000'000;

  explicit JsonReader(const Json& json) : json_(json) {}

  const Json& json() const { return json_; }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  JsonReader at(const char* key) const;
  /// The elements of a list of at most `most`.
  std::vector<JsonReader> items(std::size_t most) const;
  /// A whole number that is not negative.
  std::int64_t count(std::int64_t most = INT64_MAX) const;
  double real() const;
  bool truth() const;
  std::string text() const;
  /// A text that text_json() wrote.
  std::string bytes() const;
  [[noreturn]] static void fail(const std::string& what);

 private:
  const Json& json_;
};

/// Parses a document whose values are nested at most so deep. Error(weights) if it is none.
nlohmann::ordered_json parse_json(std::string_view text, int deepest);

/// A text as JSON: as it is, or if it is not UTF-8 as {"hex": "ff00"}.
nlohmann::ordered_json text_json(const std::string& text);

/// JSON knows no infinity and no NaN: they become texts, which JsonReader::real() reads.
nlohmann::ordered_json real_json(double value);

}  // namespace trainer
