#include "engine/math/updates.h"

#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

/// Values of an optimizer's states, which are not negative where they are squares.
struct States {
  Values first, second, third, weight;
  explicit States(std::int64_t count)
      : first(random_values(count, 2)),
        second(random_values(count, 3)),
        third(random_values(count, 4)),
        weight(random_values(count, 5)) {
    for (float& value : first) value = std::fabs(value);
    for (float& value : second) value = std::fabs(value);
  }
  friend bool operator==(const States& a, const States& b) {
    return same_bits(a.first, b.first) && same_bits(a.second, b.second) && same_bits(a.third, b.third) &&
           same_bits(a.weight, b.weight);
  }
};

using Update = void (*)(std::int64_t count, const float* gradient, States& states, std::int64_t first);

constexpr AdamStep kAdam{
    .rate = 0.1f, .epsilon = 1e-3f, .beta1 = 0.9f, .beta2 = 0.99f, .decay = 0.1f, .shrink = 0.01f};
constexpr RmspropStep kRmsprop{
    .rate = 0.1f, .smoothing = 0.9f, .epsilon = 1e-3f, .momentum = 0.9f, .decay = 0.1f};
constexpr AdagradStep kAdagrad{.rate = 0.1f, .epsilon = 1e-3f, .decay = 0.1f};
constexpr AdadeltaStep kAdadelta{.rate = 0.5f, .rho = 0.9f, .epsilon = 1e-3f, .decay = 0.1f};
constexpr LarsStep kLars{.rate = 0.1f, .momentum = 0.9f, .decay = 0.1f};
constexpr LambDirection kLamb{.scale = 1.3f, .epsilon = 1e-3f, .beta1 = 0.9f, .beta2 = 0.99f, .decay = 0.1f};
constexpr LionStep kLion{.rate = 0.1f, .beta1 = 0.9f, .beta2 = 0.99f, .shrink = 0.01f};

struct Pair {
  Update fast, plain;
};
const Pair kUpdates[] = {
    {[](auto n, auto* g, auto& s, auto i) {
       sgd_update(n, {.rate = 0.1f, .momentum = 0, .decay = 0.01f, .nesterov = false}, g, nullptr,
                  s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::sgd_update(n, {.rate = 0.1f, .momentum = 0, .decay = 0.01f, .nesterov = false}, g, nullptr,
                             s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       sgd_update(n, {.rate = 0.1f, .momentum = 0.9f, .decay = 0.01f, .nesterov = false}, g,
                  s.third.data() + i, s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::sgd_update(n, {.rate = 0.1f, .momentum = 0.9f, .decay = 0.01f, .nesterov = false}, g,
                             s.third.data() + i, s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       sgd_update(n, {.rate = 0.1f, .momentum = 0.9f, .decay = 0.01f, .nesterov = true}, g,
                  s.third.data() + i, s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::sgd_update(n, {.rate = 0.1f, .momentum = 0.9f, .decay = 0.01f, .nesterov = true}, g,
                             s.third.data() + i, s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       adam_update(n, kAdam, g, s.third.data() + i, s.first.data() + i, s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::adam_update(n, kAdam, g, s.third.data() + i, s.first.data() + i, s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       rmsprop_update(n, kRmsprop, g, s.first.data() + i, nullptr, nullptr, s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::rmsprop_update(n, kRmsprop, g, s.first.data() + i, nullptr, nullptr, s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       rmsprop_update(n, kRmsprop, g, s.first.data() + i, s.third.data() + i, s.second.data() + i,
                      s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::rmsprop_update(n, kRmsprop, g, s.first.data() + i, s.third.data() + i, s.second.data() + i,
                                 s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       adagrad_update(n, kAdagrad, g, s.first.data() + i, s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::adagrad_update(n, kAdagrad, g, s.first.data() + i, s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       adadelta_update(n, kAdadelta, g, s.first.data() + i, s.second.data() + i, s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::adadelta_update(n, kAdadelta, g, s.first.data() + i, s.second.data() + i,
                                  s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       lion_update(n, kLion, g, s.third.data() + i, s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::lion_update(n, kLion, g, s.third.data() + i, s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       lars_update(n, kLars, g, s.third.data() + i, s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::lars_update(n, kLars, g, s.third.data() + i, s.weight.data() + i);
     }},
    {[](auto n, auto* g, auto& s, auto i) {
       lamb_direction(n, kLamb, g, s.third.data() + i, s.first.data() + i, s.second.data() + i,
                      s.weight.data() + i);
     },
     [](auto n, auto* g, auto& s, auto i) {
       reference::lamb_direction(n, kLamb, g, s.third.data() + i, s.first.data() + i, s.second.data() + i,
                                 s.weight.data() + i);
     }}};

}  // namespace

TEST_CASE("steps of optimizers equal the reference to the bit, at every place of an array", "[updates]") {
  constexpr std::int64_t kCount = 203;
  const Values gradient = random_values(kCount, 1);
  for (const Pair& update : kUpdates) {
    INFO("update " << &update - kUpdates);
    States expected(kCount), whole(kCount), pieces(kCount);
    update.plain(kCount, gradient.data(), expected, 0);
    update.fast(kCount, gradient.data(), whole, 0);
    for (std::int64_t first = 0, length = 1; first < kCount; first += length, ++length)
      update.fast(std::min(length, kCount - first), gradient.data() + first, pieces, first);
    CHECK(whole == expected);
    CHECK(pieces == expected);
  }
}

TEST_CASE("sgd_update equals the reference with and without momentum, decay and Nesterov", "[updates]") {
  const std::int64_t count = GENERATE(1, 17, 1000);
  const float momentum = GENERATE(0.0f, 0.9f), decay = GENERATE(0.0f, 1e-2f);
  const bool nesterov = GENERATE(false, true), has_velocity = momentum != 0;
  const Values gradient = random_values(count, 1);
  Values velocity = random_values(count, 2), weight = random_values(count, 3);
  Values expected_velocity = velocity, expected_weight = weight;
  const SgdStep step{.rate = 0.1f, .momentum = momentum, .decay = decay, .nesterov = nesterov};
  sgd_update(count, step, gradient.data(), has_velocity ? velocity.data() : nullptr, weight.data());
  reference::sgd_update(count, step, gradient.data(), has_velocity ? expected_velocity.data() : nullptr,
                        expected_weight.data());
  CHECK(same_bits(velocity, expected_velocity));
  CHECK(same_bits(weight, expected_weight));
}

TEST_CASE("a NaN gradient does not pass unseen through a step", "[updates]") {
  for (const Pair& update : kUpdates) {
    States states(1);
    update.fast(1, &kNan, states, 0);
    CHECK(std::isnan(states.weight[0]));
  }
}
