#include "cli/commands/batch_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "cli/terminal/text.h"
#include "models/training/balance.h"

namespace trainer {
namespace {

/// Rank 0's list on all ranks. Collective.
void broadcast_list(Communicator& world, std::vector<std::int64_t>& list) {
  std::int64_t size = std::ssize(list);
  world.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  list.resize(static_cast<std::size_t>(size));
  if (size > 0) world.broadcast(std::as_writable_bytes(std::span(list)), 0);
}

bool fit(const std::vector<std::int64_t>& shares, const Session& session) {
  return std::ssize(shares) == session.mesh().data().size() &&
         std::ranges::all_of(shares, [&](std::int64_t share) { return share >= session.least_share(); }) &&
         std::accumulate(shares.begin(), shares.end(), std::int64_t{0}) == session.parts_of_batch();
}

}  // namespace

bool divide_batches(const Job& job, const RunStart& start, const OpenRun& run, bool oversubscribed) {
  Session& session = *run.session;
  if (!session.settings().measures_balance || session.mesh().data().size() == 1) return false;
  const Config root = run.config.root();
  std::vector<std::int64_t> shares;
  if (start.resumed) shares = start.resumed->checkpoint.state.rank_shares;
  broadcast_list(job.world, shares);
  if (fit(shares, session)) {
    session.divide(root, shares);
    return false;
  }
  if (!shares.empty())
    job.warn(fmt::format("note: speeds are measured again: the checkpoint has shares of {}\n",
                         counted(std::ssize(shares), "data rank")));
  load_samples(session);
  session.divide(root, shares_by_speed(session, measured_speeds(root, session, oversubscribed)));
  return true;
}

}  // namespace trainer
