#include "models/prediction/prediction_stream.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "engine/parallel/broadcast_text.h"
#include "engine/parallel/wait_for_all.h"
#include "models/prediction/sample_groups.h"

namespace trainer {
namespace {

/// Groups of a worker between two messages.
constexpr std::size_t kGroupsEach = 16;

/// The next groups, on all ranks. A pipe may be silent for as long as it likes.
std::vector<SampleGroup> read_groups(SampleSource* source, std::size_t most, Communicator& world) {
  if (world.size() == 1) return next_groups(*source, most);
  std::vector<SampleGroup> groups;
  std::exception_ptr problem;
  std::atomic<bool> is_done{world.rank() != 0};
  std::jthread reader;
  if (world.rank() == 0)
    reader = std::jthread([&] {
      try {
        groups = next_groups(*source, most);
      } catch (...) {
        problem = std::current_exception();
      }
      is_done = true;
    });
  const auto begun = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return static_cast<int>((std::chrono::steady_clock::now() - begun) / std::chrono::seconds(1));
  };
  wait_for_all(
      world, "the samples to predict", [&] { return is_done.load(); }, seconds);
  if (reader.joinable()) reader.join();
  if (problem) std::rethrow_exception(problem);
  std::string bytes;
  if (world.rank() == 0) bytes = packed(groups);
  broadcast_text(world, bytes);
  return world.rank() == 0 ? groups : unpacked_groups(bytes);
}

}  // namespace

void predict_all(Predictor& predictor, SampleSource* source, ThreadPool& pool, Communicator& world,
                 const std::function<void(std::span<const Prediction>)>& take) {
  const auto ranks = static_cast<std::size_t>(world.size()), rank = static_cast<std::size_t>(world.rank()),
             workers = static_cast<std::size_t>(pool.size());
  while (true) {
    const std::vector<SampleGroup> groups = read_groups(source, ranks * workers * kGroupsEach, world);
    if (groups.empty()) return;
    // Group g belongs to rank g % ranks.
    std::vector<std::vector<Prediction>> predictions(groups.size());
    pool.run([&](int worker) {
      for (std::size_t g = rank + static_cast<std::size_t>(worker) * ranks; g < groups.size();
           g += ranks * workers)
        predictions[g] = predictor.predict(worker, groups[g]);
    });
    std::vector<Prediction> mine;
    for (std::size_t g = rank; g < groups.size() && rank > 0; g += ranks)
      mine.insert(mine.end(), predictions[g].begin(), predictions[g].end());
    if (ranks > 1) {
      const std::string bytes = packed(mine);
      const auto all = world.gather(std::as_bytes(std::span(bytes)), 0);
      for (std::size_t other = 1; other < all.size(); ++other) {
        std::vector<Prediction> theirs =
            unpacked_predictions({reinterpret_cast<const char*>(all[other].data()), all[other].size()});
        auto next = theirs.begin();
        for (std::size_t g = other; g < groups.size(); g += ranks)
          for (std::size_t i = 0; i < groups[g].size(); ++i) predictions[g].push_back(std::move(*next++));
      }
    }
    if (rank == 0)
      for (const auto& group : predictions) take(group);
  }
}

}  // namespace trainer
