#include "datasets/readers/damaged_images.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "datasets/readers/scaled_image.h"
#include "engine/core/error.h"
#include "engine/system/thread_pool.h"

namespace trainer {
namespace {

constexpr char kEnd = '\0';  // of a path

}  // namespace

DamagedImages::DamagedImages(const std::string& text) {
  for (std::size_t begin = 1, end; (end = text.find(kEnd, begin)) != std::string::npos; begin = end + 1)
    paths_.insert(text.substr(begin, end - begin));
}

void DamagedImages::look_for(std::int64_t count, const std::function<std::string(std::int64_t)>& path,
                             const ImageExtents& extents) {
  constexpr unsigned kMostThreads = 16;
  std::mutex mutex;
  ThreadPool pool(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads)));
  std::atomic<std::int64_t> next = 0;
  pool.run([&](int) {
    ImageScaler scaler(extents, 1);
    std::vector<float> pixels(extents.size());
    for (std::int64_t index = next++; index < count; index = next++) {
      const std::string file = path(index);
      try {
        scaler.read(file, pixels.data());
      } catch (const Error&) {
        const std::lock_guard lock(mutex);
        paths_.insert(file);
      }
    }
  });
}

std::string DamagedImages::text() const {
  std::string text(1, kEnd);
  for (const std::string& path : paths_) text += path + kEnd;
  return text;
}

std::string DamagedImages::notice() const {
  if (paths_.empty()) return "";
  constexpr std::size_t kMostNames = 3;
  std::string text = paths_.size() == 1 ? "1 damaged image is left out"
                                        : fmt::format("{} damaged images are left out", paths_.size());
  std::size_t named = 0;
  for (const std::string& path : paths_) {
    if (named == kMostNames) break;
    text += (named++ == 0 ? ": " : ", ") + path;
  }
  return paths_.size() > named ? text + ", ..." : text;
}

}  // namespace trainer
