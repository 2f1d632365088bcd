#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// A key of a configuration and the values that a search gives it.
class Space {
 public:
  /// The space of a setting `KEY=VALUE` of -s: log(low,high), uniform(low,high), both also with a number of
  /// points; int(low,high); a list [a,b,c]. Nothing for any other value. Error(usage) if the space is empty
  /// or unclear.
  static std::optional<Space> parse(const std::string& setting);

  const std::string& key() const { return key_; }
  /// All values in their order; empty if the space is continuous.
  const std::vector<std::string>& points() const { return points_; }
  /// The value at `place` in [0, 1), as short as the range allows. Equal parts of [0, 1) are equal parts of
  /// the range (of its logarithm), or one point each.
  std::string at(double place) const;
  /// Where a value lies between the ends of an axis, in [0, 1].
  double place_of(const std::string& value) const;

 private:
  enum class Scale { linear, logarithmic };

  Space(std::string key, std::vector<std::string> points)
      : key_(std::move(key)), points_(std::move(points)) {}
  static Space range(const std::string& setting, const std::string& key, std::string_view kind,
                     const std::vector<std::string>& bounds);
  double number_at(double place) const;
  std::string text_of(double number) const;

  std::string key_;
  std::vector<std::string> points_;
  Scale scale_ = Scale::linear;
  double low_ = 0, high_ = 0;
};

/// The last word of each key ("lr"), or as many of its words as make it differ from the other keys.
std::vector<std::string> short_names(const std::vector<std::string>& keys);

}  // namespace trainer
