#include "models/guards/crosscheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "engine/math/checksum.h"
#include "engine/system/host.h"

namespace trainer {
namespace {

constexpr std::size_t kScores = 0, kBatchSums = 1, kGradients = 2;

std::uint64_t checksum_of(std::span<const double> values) {
  std::uint64_t sum = 0;
  for (const double value : values) sum = mixed(sum + std::bit_cast<std::uint64_t>(value));
  return sum;
}

/// The values of every rank, by rank, on rank 0; empty elsewhere.
std::vector<std::vector<std::uint64_t>> gather(Communicator& world, std::span<const std::uint64_t> mine) {
  std::vector<std::vector<std::uint64_t>> all;
  for (const std::vector<std::byte>& bytes : world.gather(std::as_bytes(mine), 0)) {
    all.emplace_back(bytes.size() / sizeof mine[0]);
    std::memcpy(all.back().data(), bytes.data(), bytes.size());
  }
  return all;
}

/// Majority vote: ranks whose repeats differ; else the minority; else all. `reports`: checksums, by rank.
std::vector<int> who_is_wrong(const std::map<int, std::vector<std::uint64_t>>& reports) {
  std::vector<int> wrong, all;
  std::map<std::uint64_t, int> votes;
  for (const auto& [rank, sums] : reports) {
    all.push_back(rank);
    if (std::ranges::count(sums, sums.front()) < std::ssize(sums)) wrong.push_back(rank);
    ++votes[sums.front()];
  }
  if (!wrong.empty()) return wrong;
  for (const auto& [rank, sums] : reports) {
    const bool outvoted = std::ranges::any_of(
        votes, [first = sums.front()](const auto& vote) { return vote.first != first && vote.second > 1; });
    if (outvoted) wrong.push_back(rank);
  }
  return wrong.empty() ? all : wrong;
}

}  // namespace

void Crosscheck::Recorder::begin(std::int64_t virtual_worker) {
  virtual_worker_ = virtual_worker;
  totals_.clear();
  checksum_ = 0;
}

void Crosscheck::Recorder::sum(int worker, std::span<const double> lines, std::span<double> total) {
  sums_.sum(worker, lines, total);
  if (virtual_worker_ < 0) return;
  if (worker == 0) totals_.insert(totals_.end(), total.begin(), total.end());
  const Range mine = workers_.of_worker(rank_, worker);
  if (virtual_worker_ < mine.first || virtual_worker_ >= mine.last) return;
  const auto line =
      lines.subspan(static_cast<std::size_t>(virtual_worker_ - mine.first) * total.size(), total.size());
  checksum_ = mixed(checksum_ + checksum_of(line));
}

void Crosscheck::Replay::begin(std::span<const double> totals) {
  totals_ = totals;
  std::ranges::fill(positions_, 0U);
  checksum_ = 0;
}

void Crosscheck::Replay::sum(int worker, std::span<const double> lines, std::span<double> total) {
  std::size_t& position = positions_[static_cast<std::size_t>(worker)];
  std::ranges::copy(totals_.subspan(position, total.size()), total.begin());
  position += total.size();
  if (!lines.empty()) checksum_ = mixed(checksum_ + checksum_of(lines));
}

namespace {

/// Every virtual worker is a rank of its own, so that one network can take any of them.
std::unique_ptr<Network> network_of_one(const Config& root, Session& session) {
  const VirtualWorkers& workers = session.virtual_workers();
  return session.make_network(
      root, {.count = workers.count, .ranks = workers.count, .threads = workers.threads, .exact = true}, 0);
}

}  // namespace

Crosscheck::Crosscheck(const Config& root, TrainingParts& parts)
    : parts_(parts),
      session_(parts.session),
      network_(network_of_one(root, session_)),
      runner_(session_, *network_),
      loader_(session_.data(),
              {.order = parts.loader.order(), .workers = session_.pool().size(), .reads_ahead = false}),
      gradient_(network_->plan().parameter_end()),
      recorder_(parts.statistics, session_.virtual_workers(), session_.mesh().data().rank()),
      replay_(session_.pool().size()) {
  network_->attach(parts.windows.values(), {{gradient_.floats()}, replay_});
  parts.attach(recorder_);
}

void Crosscheck::before_step(std::int64_t step) {
  step_ = step;
  const std::int64_t every = session_.settings().crosscheck;
  session_.network().keep_gradient_of(-1);
  checks_ = (step + 1) % every == 0;
  if (!checks_) return;
  const int ranks = session_.mesh().data().size();
  const std::int64_t number = (step + 1) / every, partners = std::max(1, ranks - 1);
  shift_ = ranks == 1 ? 0 : static_cast<int>(1 + number % partners);
  turn_ = number / partners;
  const int rank = session_.mesh().data().rank();
  const std::int64_t checked = checked_worker(rank);
  recorder_.begin(checked);
  session_.network().keep_gradient_of(
      static_cast<int>(checked - session_.virtual_workers().of_rank(rank).first));
}

std::int64_t Crosscheck::checked_worker(int data_rank) const {
  const Range workers = session_.virtual_workers().of_rank(data_rank);
  return workers.first + turn_ % workers.count();
}

int Crosscheck::checker_of(int owner, int shift) const {
  const int ranks = session_.mesh().data().size();
  return (owner + ranks - shift) % ranks;
}

Crosscheck::Traits Crosscheck::traits(std::span<const double> sums, std::uint64_t batch_sums,
                                      std::span<const float> gradient) const {
  Traits traits{checksum_of(sums), batch_sums};
  for (const Parameter& parameter : network_->plan().parameters())
    traits.push_back(checksum(gradient.subspan(static_cast<std::size_t>(parameter.offset),
                                               static_cast<std::size_t>(parameter.shape.size()))));
  return traits;
}

Crosscheck::Traits Crosscheck::own() const {
  BatchRunner& batch = parts_.batch;
  const auto checked = static_cast<std::size_t>(checked_worker(session_.mesh().data().rank()));
  return traits(batch.sums().subspan(checked * batch.kinds(), batch.kinds()), recorder_.checksum(),
                session_.network().kept_gradient());
}

/// The traits of the rank that comes `shift` ranks later.
Crosscheck::Traits Crosscheck::recompute(const MicroBatch& batch, int shift) {
  Communicator& data = session_.mesh().data();
  const std::int64_t checked = checked_worker((data.rank() + shift) % data.size());
  network_->compute_as_rank(static_cast<int>(checked));
  replay_.begin(recorder_.totals());
  runner_.clear();
  runner_.begin(batch, loader_);
  session_.pool().run([&](int worker) {
    runner_.load(worker);
    runner_.forward(worker);
    runner_.loss(worker);
    runner_.backward(worker, nullptr);
  });
  const auto sums =
      runner_.sums().subspan(static_cast<std::size_t>(checked) * runner_.kinds(), runner_.kinds());
  return traits(sums, replay_.checksum(), gradient_.floats());
}

/// Compares each rank's traits of its own virtual worker with its checker's. Collective.
Crosscheck::Finding Crosscheck::first_difference(const Traits& mine, const Traits& theirs) const {
  Traits both = mine;
  both.insert(both.end(), theirs.begin(), theirs.end());
  const auto all = gather(session_.mesh().world(), both);
  const auto columns = static_cast<std::size_t>(session_.mesh().model().size());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const auto owner = static_cast<int>(rank / columns);
    const std::size_t other = static_cast<std::size_t>(checker_of(owner, shift_)) * columns + rank % columns;
    for (std::size_t trait = 0; trait < mine.size(); ++trait)
      if (all[rank][trait] != all[other][mine.size() + trait]) return {.owner = owner, .trait = trait};
  }
  return {};
}

void Crosscheck::after_backward(const MicroBatch& batch) {
  if (!holds_gradients(batch)) return;
  Communicator& world = session_.mesh().world();
  recorder_.end();
  const Traits mine = own(), theirs = recompute(batch, shift_);
  const Finding finding = first_difference(mine, theirs);
  std::int64_t found = finding.owner >= 0 ? 1 : 0;
  world.sum(std::span(&found, 1));
  if (found == 0) return;

  // All ranks recompute it, also a third one if there is one.
  const int ranks = session_.mesh().data().size();
  const auto columns = static_cast<std::size_t>(session_.mesh().model().size());
  std::map<int, std::vector<std::uint64_t>> reports;
  const auto collect = [&](const Traits& traits, int shift) {
    const auto all = gather(world, traits);
    if (finding.owner < 0) return;
    const int rank = checker_of(finding.owner, shift);
    std::uint64_t sum = 0;
    for (std::size_t column = 0; column < columns; ++column)
      for (const std::uint64_t trait : all[static_cast<std::size_t>(rank) * columns + column])
        sum = mixed(sum + trait);
    reports[rank].push_back(sum);
  };
  collect(mine, 0);
  collect(theirs, shift_);
  for (const int shift : {0, shift_, ranks > 2 ? shift_ % (ranks - 1) + 1 : 0})
    collect(recompute(batch, shift), shift);
  fail(finding, who_is_wrong(reports));
}

void Crosscheck::fail(const Finding& finding, const std::vector<int>& wrong) const {
  const std::string host = host_name();
  const auto hosts = session_.mesh().world().gather(std::as_bytes(std::span(host)), 0);
  if (finding.owner < 0) throw Error(ExitCode::diverged, "ranks do not compute the same");
  const int columns = session_.mesh().model().size();
  const auto name = [&](int data_rank) {
    std::string names;
    for (int rank = data_rank * columns; rank < (data_rank + 1) * columns; ++rank) {
      const auto& bytes = hosts[static_cast<std::size_t>(rank)];
      names += fmt::format("{}rank {} on {}", names.empty() ? "" : ", ", rank,
                           std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    return names;
  };
  const std::string trait =
      finding.trait == kScores ? "loss and metrics"
      : finding.trait == kBatchSums
          ? "statistics over the batch"
          : "the gradient of " + network_->plan().parameters()[finding.trait - kGradients].name;
  const std::string place =
      fmt::format("{}, in virtual worker {} of step {}", trait, checked_worker(finding.owner), step_ + 1);
  std::string names;
  for (const int rank : wrong) names += (names.empty() ? "" : " and ") + name(rank);
  const bool sure = wrong.size() == 1;
  throw Error(ExitCode::diverged,
              {Diagnostic{.what = sure ? fmt::format("{} computed wrongly: {}", names, place)
                                       : fmt::format("{} do not compute the same: {}", names, place),
                          .notes = {fmt::format("{} computed that virtual worker, and {} computed it again",
                                                name(finding.owner), name(checker_of(finding.owner, shift_))),
                                    "failing processor or memory"},
                          .help = sure ? "resume from the last checkpoint, without that host"
                                       : "resume from the last checkpoint, first without one of the hosts, "
                                         "then without the other"}});
}

}  // namespace trainer
