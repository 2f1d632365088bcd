#include "engine/parallel/mpi_exchange.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "engine/core/random.h"
#include "tests/engine/parallel/all_ranks.h"

namespace trainer {
namespace {

std::vector<std::byte> message(int from, int to, std::size_t bytes, int number) {
  std::vector<std::byte> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    text[i] =
        static_cast<std::byte>(i * 7 + i / 1000 + static_cast<std::size_t>(from * 31 + to * 5 + number));
  return text;
}

/// A message from rank 0 to rank 1.
struct Letter {
  explicit Letter(MpiGroup& group, int number) : expected(message(0, 1, 3'000'000, number)), exchange(group) {
    if (group.size() == 1) return;
    if (group.rank == 0) exchange.send(std::span<const std::byte>(expected), 1);
    if (group.rank == 1) exchange.receive(std::span(in), 0);
  }
  /// Without wait(); true if all is here in time.
  bool arrives() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!exchange.test() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return exchange.test();
  }
  std::vector<std::byte> expected, in = std::vector<std::byte>(expected.size());
  MpiExchange exchange;
};

/// Messages of one exchange between this rank and all others.
struct Letters {
  Letters(MpiGroup& group, std::size_t bytes, int number) : exchange(std::make_unique<MpiExchange>(group)) {
    for (int distance = 1; distance < group.size(); ++distance) {
      const int from = group.before(distance), to = group.after(distance);
      out.push_back(message(group.rank, to, bytes, number));
      in.emplace_back(bytes);
      expected.push_back(message(from, group.rank, bytes, number));
      exchange->receive(std::span(in.back()), from);
      exchange->send(std::span<const std::byte>(out.back()), to);
    }
    exchange->start();
  }
  std::vector<std::vector<std::byte>> out, in, expected;
  std::unique_ptr<MpiExchange> exchange;
};

/// Floats of which some are 0, and in some chunks so different that no code of them is shorter.
std::vector<float> floats(int from, int to, std::size_t count) {
  std::vector<float> values(count);
  const RandomStream random(static_cast<std::uint64_t>(from), "floats", static_cast<std::uint64_t>(to));
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = random.bits(i) % 4 == 0 ? 0.0f : random.uniform(i) - 0.5f;
    if (i / 20'000 % 2 == 1) values[i] = std::bit_cast<float>(random.bits(i));
  }
  return values;
}

bool have_same_bits(std::span<const float> one, std::span<const float> other) {
  return std::ranges::equal(std::as_bytes(one), std::as_bytes(other));
}

}  // namespace

TEST_CASE("encoded floats arrive bit by bit, whichever ranks encode", "[parallel]") {
  AllRanks all(true);
  const int encoders = GENERATE(0, 1, 2);
  all.progress.codes.use(encoders == 2 || all.group.rank % 2 < encoders);
  const std::size_t count = GENERATE(1'000, 1'025, 15'360, 15'361, 200'003);
  std::vector<std::vector<float>> out, in, expected;
  MpiExchange exchange(all.group);
  for (int distance = 1; distance < all.group.size(); ++distance) {
    const int from = all.group.before(distance), to = all.group.after(distance);
    out.push_back(floats(all.group.rank, to, count));
    in.emplace_back(count);
    expected.push_back(floats(from, all.group.rank, count));
    exchange.receive(std::span(in.back()), from);
    exchange.send(std::span<const float>(out.back()), to);
  }
  exchange.start();
  exchange.wait();
  for (std::size_t i = 0; i < in.size(); ++i) CHECK(have_same_bits(in[i], expected[i]));
}

TEST_CASE("messages of any length arrive whole, between hosts and on one", "[parallel]") {
  AllRanks all(GENERATE(false, true));
  const std::size_t chunk = 60 << 10;
  const std::size_t bytes =
      GENERATE_COPY(std::size_t{0}, std::size_t{1}, chunk - 1, chunk, chunk + 1, 40 * chunk + 3);
  const Letters letters(all.group, bytes, 0);
  letters.exchange->wait();
  CHECK(letters.exchange->test());
  CHECK(letters.in == letters.expected);
}

TEST_CASE("exchanges under way at one time do not mix their messages", "[parallel]") {
  AllRanks all(GENERATE(false, true));
  constexpr int kExchanges = 5;
  std::vector<std::unique_ptr<Letters>> several;
  several.reserve(kExchanges);
  for (int number = 0; number < kExchanges; ++number)
    several.push_back(std::make_unique<Letters>(all.group, 1'000'000 >> (3 * number), number));
  for (auto letters = several.rbegin(); letters != several.rend(); ++letters) (*letters)->exchange->wait();
  for (const auto& letters : several) CHECK(letters->in == letters->expected);
}

TEST_CASE("messages between hosts arrive while the receiver computes", "[parallel]") {
  using namespace std::chrono_literals;
  AllRanks all(true);
  const Letters letters(all.group, 3'000'000, 0);
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  // test() makes no call of MPI here: the background thread alone moves the messages.
  while (!letters.exchange->test() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  CHECK(letters.exchange->test());
  CHECK(letters.in == letters.expected);
}

TEST_CASE("all messages between hosts move while a rank waits for one of them", "[parallel]") {
  AllRanks all(true);
  MpiExchange answer(all.group);
  std::byte word{0};
  const bool is_first = all.group.rank == 0, is_second = all.group.rank == 1;
  if (is_first && all.group.size() > 1) answer.receive(std::span(&word, 1), 1);
  if (is_second) answer.send(std::span<const std::byte>(&word, 1), 0);
  Letter letter(all.group, 1);
  if (!is_second) answer.start();
  letter.exchange.start();
  if (is_second) {
    CHECK(letter.arrives());
    CHECK(letter.in == letter.expected);
    answer.start();
  }
  answer.wait();
  letter.exchange.wait();
}

TEST_CASE("a message does not wait for an earlier one that its receiver does not expect yet", "[parallel]") {
  AllRanks all(true);
  Letter early(all.group, 1), late(all.group, 2);
  const bool receives = all.group.rank == 1;
  if (!receives) early.exchange.start();
  late.exchange.start();
  if (receives) CHECK(late.arrives());
  late.exchange.wait();
  if (receives) early.exchange.start();
  early.exchange.wait();
  if (receives) CHECK((early.in == early.expected && late.in == late.expected));
}

TEST_CASE("an exchange that is given up cancels what it expects, and others go through", "[parallel]") {
  AllRanks all(true);
  for (int number = 0; number < 3; ++number) {
    const Letters letters(all.group, 200'000, number);
    letters.exchange->wait();
  }
  std::vector<std::byte> never_sent(100'000, std::byte{7});
  const auto begun = std::chrono::steady_clock::now();
  {
    MpiExchange given_up(all.group);
    if (all.group.size() > 1) given_up.receive(std::span(never_sent), all.group.before(1));
    given_up.start();
  }
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(900));
  CHECK(std::ranges::all_of(never_sent, [](std::byte value) { return value == std::byte{7}; }));
  const Letters letters(all.group, 200'000, 4);
  letters.exchange->wait();
  CHECK(letters.in == letters.expected);
}

}  // namespace trainer
