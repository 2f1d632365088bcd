#include "models/proof/chain.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <span>
#include <vector>

#include "engine/core/error.h"
#include "engine/math/fingerprint.h"
#include "engine/system/files.h"
#include "tests/engine/math/values.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// A chain of `steps` steps; the batch of step `changed` differs from that of a chain with another one.
Chain chain_of(std::int64_t steps, std::int64_t changed = -1) {
  Chain chain;
  for (std::int64_t step = 0; step <= steps; ++step) {
    ChainRecord record{.step = step};
    record.weights.add(3, static_cast<std::uint64_t>(step));
    if (step > 0) record.batch.add(0, step == changed ? 7 : 8);
    record.link(chain.records.empty() ? std::nullopt : std::optional(chain.records.back().value));
    chain.records.push_back(record);
  }
  return chain;
}

std::string line_of(const ChainRecord& record) {
  std::string line;
  append_line(line, record);
  return line;
}

std::string text_of(const Chain& chain) {
  std::string text;
  for (const ChainRecord& record : chain.records) text += line_of(record) + "\n";
  return text;
}

}  // namespace

TEST_CASE("a change of one item of a fingerprint is named by its place, a change of two is not", "[proof]") {
  FingerprintSums before, after, other;
  for (std::size_t place = 0; place < 100; ++place) {
    before.add(place, place * place);
    after.add(place, place == 41 ? 5 : place * place);
    other.add(place, place == 41 || place == 7 ? 5 : place * place);
  }
  CHECK(differing_item(before, after, 100) == 41);
  CHECK_FALSE(differing_item(before, other, 100));
  CHECK_FALSE(differing_item(before, before, 100));
}

TEST_CASE("the fingerprint of a batch changes when two of its rows or two elements of a row change places",
          "[proof]") {
  constexpr std::size_t kRows = 12, kSize = 50;
  std::vector<float> values = random_values(kRows * kSize, 1);
  const auto fingerprint_of_batch = [&] {
    std::vector<std::uint64_t> rows(kRows);
    row_fingerprints(values, rows);
    FingerprintSums batch;
    for (std::size_t row = 0; row < kRows; ++row) batch.add(row, rows[row]);
    return batch;
  };
  const FingerprintSums before = fingerprint_of_batch();
  const auto swap_rows = [&](std::size_t one, std::size_t other) {
    const auto row = [&](std::size_t place) { return std::span(values).subspan(place * kSize, kSize); };
    std::ranges::swap_ranges(row(one), row(other));
  };
  for (std::size_t one = 0; one < kRows; ++one)
    for (std::size_t other = 0; other < one; ++other) {
      swap_rows(one, other);
      const FingerprintSums after = fingerprint_of_batch();
      CHECK(after.first != before.first);
      CHECK(after.second != before.second);
      swap_rows(one, other);
    }
  for (std::size_t one = 0; one < kSize; ++one)
    for (std::size_t other = 0; other < one; ++other) {
      std::swap(values[3 * kSize + one], values[3 * kSize + other]);
      CHECK(differing_item(before, fingerprint_of_batch(), kRows) == 3);
      std::swap(values[3 * kSize + one], values[3 * kSize + other]);
    }
}

TEST_CASE("a line of a chain is read as it was written", "[proof]") {
  const Chain chain = chain_of(2);
  for (const ChainRecord& record : chain.records) {
    const std::optional<ChainRecord> read = parse_chain_record(line_of(record));
    REQUIRE(read);
    CHECK(line_of(*read) == line_of(record));
  }
  for (const char* line : {"", "{}", "[]", R"({"step":-1})", R"({"step":1,"batch":3})", "{\"step\":0,"})
    CHECK_FALSE(parse_chain_record(line));
}

TEST_CASE("of a chain whose line was changed the line is named", "[proof]") {
  const TemporaryFolder folder;
  const std::string text = text_of(chain_of(5));
  write_file(folder.path() / kChainFile, text + "{\"step\":6,\"ba");
  CHECK(read_chain(folder.path()).last_step() == 5);
  std::string changed = text;
  // Line 4 is that of step 3.
  changed[changed.find("\"batch\"", changed.find("\"step\":3")) + 12] ^= 1;
  write_file(folder.path() / kChainFile, changed);
  CHECK_THROWS_WITH(read_chain(folder.path()), Catch::Contains("the chain value of step 3 does not follow") &&
                                                   Catch::Contains("line 4"));
  write_file(folder.path() / kChainFile, text_of(chain_of(1)) + text);
  CHECK_THROWS_WITH(read_chain(folder.path()), Catch::Contains("step 0 follows step 1"));
  write_file(folder.path() / kChainFile, "");
  CHECK_THROWS_AS(read_chain(folder.path()), Error);
}

TEST_CASE("the step at which two chains part is found wherever it is", "[proof]") {
  const Chain chain = chain_of(37);
  for (std::int64_t step = 1; step <= 37; ++step) CHECK(first_difference(chain, chain_of(37, step)) == step);
  CHECK_FALSE(first_difference(chain, chain_of(20)));
}

}  // namespace trainer
