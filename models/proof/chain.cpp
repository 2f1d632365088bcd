#include "models/proof/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/core/error.h"
#include "engine/math/checksum.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

constexpr const char* kOrigin = "trainer chain 1";
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40;
constexpr std::size_t kDigits = 16;  // of a sum

void append_hex(std::string& text, std::uint64_t bits) {
  std::array<char, kDigits> digits;
  for (char& digit : digits) {
    digit = "0123456789abcdef"[bits >> 60];
    bits <<= 4;
  }
  text.append(digits.data(), digits.size());
}

bool read_hex(std::string_view text, FingerprintSums& fingerprint) {
  if (text.size() != 2 * kDigits) return false;
  const auto read = [](std::string_view digits, std::uint64_t& sum) {
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), sum, 16);
    return problem == std::errc() && end == digits.data() + digits.size();
  };
  return read(text.substr(0, kDigits), fingerprint.first) && read(text.substr(kDigits), fingerprint.second);
}

[[noreturn]] void fail_at(const std::filesystem::path& file, std::size_t line, const std::string& what) {
  throw Error(ExitCode::weights, {Diagnostic{.what = fmt::format("{}: {}", file.string(), what),
                                             .notes = {fmt::format("line {}", line)},
                                             .help = "the file was changed or is damaged"}});
}

}  // namespace

PlaceFactors factors_of(std::size_t place) { return {mixed(2 * place + 1) | 1, mixed(2 * place + 2) | 1}; }

FingerprintSums& FingerprintSums::operator+=(const FingerprintSums& other) {
  first += other.first;
  second += other.second;
  return *this;
}

std::optional<std::size_t> differing_item(const FingerprintSums& one, const FingerprintSums& other,
                                          std::size_t items) {
  if (one == other) return std::nullopt;
  const std::uint64_t first = one.first - other.first, second = one.second - other.second;
  // A change d of item p: first = d f(p) and second = d g(p), so first g(p) = second f(p).
  for (std::size_t place = 0; place < items; ++place) {
    const PlaceFactors factors = factors_of(place);
    if (first * factors.second == second * factors.first) return place;
  }
  return std::nullopt;
}

void ChainRecord::link(const std::optional<Sha256Digest>& before) {
  Sha256 hash;
  if (before)
    hash.add(std::as_bytes(std::span(*before)));
  else
    hash.add(std::string_view(kOrigin));
  hash.add(static_cast<std::uint64_t>(step));
  for (const FingerprintSums* part : {&batch, &gradients, &weights}) {
    hash.add(part->first);
    hash.add(part->second);
  }
  value = hash.digest();
}

void append_line(std::string& text, const ChainRecord& record) {
  std::array<char, std::numeric_limits<std::int64_t>::digits10 + 1> step;
  char* const end = std::to_chars(step.data(), step.data() + step.size(), record.step).ptr;
  text.append(R"({"step":)").append(step.data(), static_cast<std::size_t>(end - step.data()));
  const auto add = [&text](std::string_view key, const FingerprintSums& fingerprint) {
    text.append(R"(,")").append(key).append(R"(":")");
    append_hex(text, fingerprint.first);
    append_hex(text, fingerprint.second);
    text += '"';
  };
  if (record.step > 0) {
    add("batch", record.batch);
    add("gradients", record.gradients);
  }
  add("weights", record.weights);
  text.append(R"(,"chain":")");
  append_hex(text, record.value);
  text.append(R"("})");
}

std::optional<ChainRecord> parse_chain_record(std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  ChainRecord record;
  const auto step = json.find("step");
  if (step == json.end() || !step->is_number_unsigned()) return std::nullopt;
  if (step->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  record.step = step->get<std::int64_t>();
  if (record.step > 0 &&
      !(read_hex(text("batch"), record.batch) && read_hex(text("gradients"), record.gradients)))
    return std::nullopt;
  const std::optional<Sha256Digest> value = digest_of_hex(text("chain"));
  if (!read_hex(text("weights"), record.weights) || !value) return std::nullopt;
  record.value = *value;
  return record;
}

const ChainRecord* Chain::at(std::int64_t step) const {
  if (records.empty() || step < records.front().step || step > last_step()) return nullptr;
  return &records[static_cast<std::size_t>(step - records.front().step)];
}

Chain read_chain(const std::filesystem::path& run) {
  const std::filesystem::path file = run / kChainFile;
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw Error(ExitCode::usage, fmt::format("{} has no {}", run.string(), kChainFile),
                "train.chain: true in the configuration of the run writes it");
  const std::string text = read_file(file, ExitCode::weights, kLargestFile);
  Chain chain;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    ++number;
    if (end == std::string_view::npos) break;  // half a line of a run that was killed
    const std::optional<ChainRecord> record = parse_chain_record(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    if (!record) fail_at(file, number, "not a line of a chain");
    if (!chain.records.empty() && record->step != chain.last_step() + 1)
      fail_at(file, number, fmt::format("step {} follows step {}", record->step, chain.last_step()));
    ChainRecord expected = *record;
    expected.link(chain.records.empty() ? std::nullopt : std::optional(chain.records.back().value));
    if (expected.value != record->value)
      fail_at(file, number,
              fmt::format("the chain value of step {} does not follow from its hashes", record->step));
    chain.records.push_back(*record);
  }
  if (chain.records.empty()) fail_at(file, 1, "it is empty");
  return chain;
}

std::optional<std::int64_t> first_difference(const Chain& one, const Chain& other) {
  const std::int64_t first = std::max(one.records.front().step, other.records.front().step),
                     last = std::min(one.last_step(), other.last_step());
  // Values differ from the first difference on.
  std::int64_t low = first, high = last + 1;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (one.at(middle)->value == other.at(middle)->value)
      low = middle + 1;
    else
      high = middle;
  }
  return low > last ? std::nullopt : std::optional(low);
}

}  // namespace trainer
