#include "models/checkpoints/checkpoint_state.h"

#include <catch2/catch.hpp>
#include <limits>

#include "engine/core/error.h"

namespace trainer {
namespace {

CheckpointState a_state() {
  return {.step = 1234,
          .steps_per_epoch = 100,
          .seed = std::uint64_t{1} << 62,
          .data = "mnist \"quoted\" \xC3\xA4",
          .config = "train:\n  batch: 8\n",
          .evaluated = false,
          .time = 0.1,
          .epoch_time = 1e-300,
          .run_times = {.training = std::chrono::nanoseconds(123456789012345),
                        .data = std::chrono::nanoseconds(7),
                        .mean_waiting = std::chrono::nanoseconds(5)},
          .epoch_sums = {.samples = 40, .loss = 1.0 / 3, .metrics = {0.1, 2e-308}},
          .best = Scores{.samples = 10, .loss = std::numeric_limits<double>::infinity(), .metrics = {1, 0}},
          .best_step = 1200,
          .best_epoch = 12,
          .rank_shares = {25, 75},
          .files = {{"model.safetensors", {.bytes = std::uint64_t{1} << 40, .crc32 = 0xFFFFFFFF}}}};
}

}  // namespace

TEST_CASE("a state comes back from its text to the last bit", "[training]") {
  const CheckpointState state = a_state();
  const CheckpointState back = parse_checkpoint_state(text_of(state));
  CHECK(text_of(back) == text_of(state));
  CHECK(back.step == 1234);
  CHECK(back.run_times.mean_waiting.count() == 5);
  CHECK(back.seed == state.seed);
  CHECK(back.data == state.data);
  CHECK(back.config == state.config);
  CHECK_FALSE(back.evaluated);
  CHECK(back.time == 0.1);
  CHECK(back.run_times.training == state.run_times.training);
  CHECK(back.epoch_sums.loss == 1.0 / 3);
  CHECK(back.epoch_sums.metrics == state.epoch_sums.metrics);
  CHECK(back.best->loss == state.best->loss);
  CHECK_FALSE(back.last);
  CHECK(back.rank_shares == state.rank_shares);
  CHECK(back.files == state.files);
}

TEST_CASE("a state with any byte lost or flipped is refused", "[training]") {
  const std::string text = text_of(a_state());
  for (std::size_t at = 0; at + 2 < text.size(); ++at) {
    CHECK_THROWS_AS(parse_checkpoint_state(text.substr(0, at)), Error);
    std::string flipped = text;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    // Only white space between the values may be any other.
    if (text[at] == ' ' || text[at] == '\n') continue;
    INFO(flipped);
    CHECK_THROWS_AS(parse_checkpoint_state(flipped), Error);
  }
}

TEST_CASE("a state with counts that overflow when a step adds to them is refused", "[training]") {
  CheckpointState state = a_state();
  SECTION("of samples") { state.epoch_sums.samples = std::numeric_limits<std::int64_t>::max(); }
  SECTION("of time") { state.run_times.training = std::chrono::nanoseconds::max(); }
  CHECK_THROWS_WITH(parse_checkpoint_state(text_of(state)), Catch::Contains("out of its range"));
}

TEST_CASE("a text that is no state is refused, whatever it is", "[training]") {
  const std::string text =
      GENERATE(as<std::string>{}, "", "{}", "[]", "null", "1", "{\"format\": 1}", "{\"format\": 2}",
               "{\"format\": -1}", "{\"format\": 1e99}", "\xFF\xFE", std::string(100'000, '['));
  CHECK_THROWS_AS(parse_checkpoint_state(text), Error);
}

}  // namespace trainer
