#include "engine/math/updates.h"

#include "engine/math/checksum.h"
#include "engine/math/elementwise.h"
#include "tests/engine/math/numbers.h"

using namespace trainer;

namespace {

/// Numbers of an optimizer's states, which are not negative where they are squares.
struct States {
  Numbers first, second, third, weight;
  explicit States(std::int64_t count)
      : first(random_numbers(count, 2)),
        second(random_numbers(count, 3)),
        third(random_numbers(count, 4)),
        weight(random_numbers(count, 5)) {
    for (float& number : first) number = std::fabs(number);
    for (float& number : second) number = std::fabs(number);
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

TEST_CASE("steps of optimizers equal the reference to the bit, wherever a number lies", "[updates]") {
  constexpr std::int64_t kCount = 203;
  const Numbers gradient = random_numbers(kCount, 1);
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

TEST_CASE("an update that adds up bits takes those that it reads and writes, and writes the same",
          "[updates]") {
  using Told = void (*)(std::int64_t, const float*, States&, UpdateSums*);
  struct Case {
    Told update;
    std::vector<Numbers States::*> arrays;
    std::size_t first = 0;  // of the arrays, where others before it are left to a later update
  };
  const Case told = GENERATE(
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             adam_update(n, kAdam, g, s.third.data(), s.first.data(), s.weight.data(), sums);
           },
           {&States::weight, &States::third, &States::first}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             rmsprop_update(n, kRmsprop, g, s.first.data(), nullptr, s.third.data(), s.weight.data(), sums);
           },
           {&States::weight, &States::first, &States::third}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             rmsprop_update(n, kRmsprop, g, s.first.data(), s.third.data(), s.second.data(), s.weight.data(),
                            sums);
           },
           {&States::weight, &States::first, &States::third, &States::second}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             adagrad_update(n, kAdagrad, g, s.first.data(), s.weight.data(), sums);
           },
           {&States::weight, &States::first}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             adadelta_update(n, kAdadelta, g, s.first.data(), s.second.data(), s.weight.data(), sums);
           },
           {&States::weight, &States::first, &States::second}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             lion_update(n, kLion, g, s.third.data(), s.weight.data(), sums);
           },
           {&States::weight, &States::third}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             lars_update(n, kLars, g, s.third.data(), s.weight.data(), sums);
           },
           {&States::weight, &States::third}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             Numbers direction(static_cast<std::size_t>(n));
             lamb_direction(n, kLamb, g, s.third.data(), s.first.data(), s.weight.data(), direction.data(),
                            sums);
           },
           {&States::third, &States::first},
           1},
      Case{[](auto n, auto* g, auto& s, auto* sums) { moving_average(n, 0.9f, g, s.third.data(), sums, 0); },
           {&States::third}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             sgd_update(n, 0.1f, 0, 0.1f, false, g, nullptr, s.weight.data(), sums);
           },
           {&States::weight}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             sgd_update(n, 0.1f, 0.9f, 0.1f, false, g, s.first.data(), s.weight.data(), sums);
           },
           {&States::weight, &States::first}},
      Case{[](auto n, auto* g, auto& s, auto* sums) {
             sgd_update(n, 0.1f, 0.9f, 0.1f, true, g, s.first.data(), s.weight.data(), sums);
           },
           {&States::weight, &States::first}});
  const std::int64_t count = GENERATE(1, 17, 1000);
  const Numbers gradient = random_numbers(count, 1);
  States plain(count), summed(count);
  UpdateSums sums;
  // Sums of what was told before go on.
  std::vector<std::uint32_t> before(told.arrays.size(), 7), after(told.arrays.size(), 9);
  for (std::size_t i = 0; i < told.arrays.size(); ++i) {
    sums.before[told.first + i].parts[0] = before[i];
    sums.after[told.first + i].parts[15] = after[i];
    before[i] ^= bit_sum(plain.*told.arrays[i]);
  }
  told.update(count, gradient.data(), plain, nullptr);
  told.update(count, gradient.data(), summed, &sums);
  CHECK(plain == summed);
  for (std::size_t i = 0; i < told.arrays.size(); ++i) {
    CHECK(sums.before[told.first + i].total() == before[i]);
    CHECK(sums.after[told.first + i].total() == (after[i] ^ bit_sum(plain.*told.arrays[i])));
  }
}

TEST_CASE("a NaN gradient does not pass unseen through a step", "[updates]") {
  for (const Pair& update : kUpdates) {
    States states(1);
    update.fast(1, &kNan, states, 0);
    CHECK(std::isnan(states.weight[0]));
  }
}
