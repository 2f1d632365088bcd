#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "datasets/transforms/resample.h"

namespace trainer {

/// Paths of image files that cannot be decoded.
class DamagedImages {
 public:
  DamagedImages() = default;
  /// As text() wrote them.
  explicit DamagedImages(const std::string& text);

  /// Reads `count` images on several threads and adds those that cannot be decoded.
  void look_for(std::int64_t count, const std::function<std::string(std::int64_t)>& path,
                const ImageExtents& extents);
  bool contain(const std::string& path) const { return paths_.contains(path); }
  /// For Reader::learn(); never empty.
  std::string text() const;
  /// For DataSource::notice: how many, and the first three; empty if there are none.
  std::string notice() const;

 private:
  std::set<std::string> paths_;
};

}  // namespace trainer
