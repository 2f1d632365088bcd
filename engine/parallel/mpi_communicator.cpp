#include "engine/parallel/mpi_communicator.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <type_traits>

#include "engine/parallel/launcher_environment.h"
#include "engine/parallel/memory_block.h"
#include "engine/parallel/mpi_exchange.h"
#include "engine/parallel/mpi_remote_memory.h"

namespace trainer {
namespace {

/// Room in /dev/shm that stays for others, MPI's own segments among them.
constexpr std::int64_t kMargin = 1 << 20;

/// Calls function(first, count) for chunks of `count` elements: MPI counts in int.
template <class Function>
void for_chunks(std::int64_t count, const Function& function) {
  constexpr std::int64_t kChunk = 1 << 22;
  for (std::int64_t first = 0; first < count; first += kChunk)
    function(first, static_cast<int>(std::min(kChunk, count - first)));
}

/// Waits for a collective call without keeping a core that the ranks waited for may need.
void wait_for(const MpiGroup& group, MPI_Request& request) {
  group.progress.wait(group.between_hosts, [&] {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  });
}

template <class T>
T sum_of(T one, T other) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;  // wraps
    return static_cast<T>(static_cast<Unsigned>(one) + static_cast<Unsigned>(other));
  } else {
    return one + other;
  }
}

/// The same for both orders of the values: of NaN and a number the maximum is NaN.
template <class T>
T combined(T one, T other, MPI_Op operation) {
  if (operation != MPI_MAX) return sum_of(one, other);
  return one > other || one != one ? one : other;
}

/// All ranks send their few values to all others: one message's time, where a tree takes several. Each rank
/// combines them in the order of the ranks, so all have the same bits.
template <class T>
void all_reduce_directly(MpiGroup& group, std::span<T> values, MPI_Op operation) {
  const std::size_t count = values.size();
  std::vector<T> all(count * static_cast<std::size_t>(group.size()));
  const auto values_of = [&](int rank) {
    return std::span(all).subspan(static_cast<std::size_t>(rank) * count, count);
  };
  MpiExchange exchange(group, "a sum over ranks");
  for (int distance = 1; distance < group.size(); ++distance) {
    exchange.receive(values_of(group.before(distance)), group.before(distance));
    exchange.send(std::span<const T>(values), group.after(distance));
  }
  exchange.start();
  exchange.wait();
  std::ranges::copy(values, values_of(group.rank).begin());
  std::ranges::copy(values_of(0), values.begin());
  for (int rank = 1; rank < group.size(); ++rank)
    std::ranges::transform(values, values_of(rank), values.begin(),
                           [&](T one, T other) { return combined(one, other, operation); });
}

/// Recursive doubling (Thakur, Rabenseifner and Gropp 2005, section 4): the logarithm of the ranks in rounds.
/// MPI's non-blocking sum may go up and down a tree, which takes twice as long. In each round two ranks add
/// the same two values, so all have the same bits. Ranks beyond a power of two lend their values to another
/// one.
template <class T>
void all_reduce_by_doubling(MpiGroup& group, std::span<T> values, MPI_Op operation) {
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(group.size())));
  std::vector<T> received(values.size());
  // All ranks make the same number of exchanges.
  const auto exchange = [&](int to, int from) {
    MpiExchange messages(group, "a sum over ranks");
    if (to >= 0) messages.send(std::span<const T>(values), to);
    if (from >= 0) messages.receive(std::span<T>(received), from);
    messages.start();
    messages.wait();
  };
  const auto combine = [&] {
    std::ranges::transform(values, received, values.begin(),
                           [&](T one, T other) { return combined(one, other, operation); });
  };
  const bool lends = group.rank >= power, borrows = group.rank < group.size() - power;
  exchange(lends ? group.rank - power : -1, borrows ? group.rank + power : -1);
  if (borrows) combine();
  for (int distance = 1; distance < power; distance *= 2) {
    const int partner = lends ? -1 : group.rank ^ distance;
    exchange(partner, partner);
    if (!lends) combine();
  }
  exchange(borrows ? group.rank + power : -1, lends ? group.rank - power : -1);
  if (lends) std::ranges::copy(received, values.begin());
}

template <class T>
void all_reduce(MpiGroup& group, std::span<T> values, MPI_Datatype type, MPI_Op operation) {
  if (group.size() == 1) return;
  constexpr int kFewHosts = 16;
  constexpr std::size_t kFewBytes = 1 << 12, kMostBytes = 1 << 17;
  // Counts are summed seldom, often after work of unequal length: there the missing rank should be named.
  const bool names_the_missing = std::is_same_v<T, std::int64_t>;
  if ((group.between_hosts || names_the_missing) && values.size_bytes() <= kMostBytes)
    return group.size() <= kFewHosts && values.size_bytes() <= kFewBytes
               ? all_reduce_directly(group, values, operation)
               : all_reduce_by_doubling(group, values, operation);
  const Heartbeat::Waiting waiting(group.heartbeat, "a sum over ranks");
  for_chunks(std::ssize(values), [&](std::int64_t first, int count) {
    T* const chunk = values.data() + first;
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const MpiProgress::Lock lock = group.progress.enter();
      if (mpi_yields() && !group.between_hosts) {  // the blocking call is the faster one
        check_mpi(MPI_Allreduce(MPI_IN_PLACE, chunk, count, type, operation, group.handle), "MPI_Allreduce");
        return;
      }
      check_mpi(MPI_Iallreduce(MPI_IN_PLACE, chunk, count, type, operation, group.handle, &request),
                "MPI_Iallreduce");
    }
    wait_for(group, request);
  });
}

/// Cuts `values` by rank. Counts that do not fill it are a logic_error: MPI would write past its end.
template <class T>
std::vector<std::span<T>> parts(std::span<T> values, std::span<const std::int64_t> counts, int ranks) {
  if (std::ssize(counts) != ranks ||
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != std::ssize(values))
    throw std::logic_error("a collective's counts do not fit its buffer");
  std::vector<std::span<T>> result;
  for (const std::int64_t count : counts) {
    result.push_back(values.first(static_cast<std::size_t>(count)));
    values = values.subspan(static_cast<std::size_t>(count));
  }
  return result;
}

template <class T>
std::unique_ptr<Request> all_gather_parts(MpiGroup& group, std::span<const T> mine, std::span<T> all,
                                          std::span<const std::int64_t> counts) {
  const auto slices = parts(all, counts, group.size());
  const std::span<T> own = slices[static_cast<std::size_t>(group.rank)];
  if (own.size() != mine.size()) throw std::logic_error("all_gather: my part differs from my count");
  auto exchange = std::make_unique<MpiExchange>(group);
  for (int distance = 1; distance < group.size(); ++distance) {
    const int source = group.before(distance);
    exchange->receive(slices[static_cast<std::size_t>(source)], source);
    exchange->send(mine, group.after(distance));
  }
  exchange->start();
  if (own.data() != mine.data()) std::ranges::copy(mine, own.begin());
  return exchange;
}

template <class T>
std::unique_ptr<Request> all_to_all_parts(MpiGroup& group, std::span<const T> out,
                                          std::span<const std::int64_t> counts_out, std::span<T> in,
                                          std::span<const std::int64_t> counts_in) {
  const auto outgoing = parts(out, counts_out, group.size());
  const auto incoming = parts(in, counts_in, group.size());
  const auto me = static_cast<std::size_t>(group.rank);
  if (outgoing[me].size() != incoming[me].size())
    throw std::logic_error("all_to_all: what I send to myself differs from what I receive");
  auto exchange = std::make_unique<MpiExchange>(group);
  for (int distance = 1; distance < group.size(); ++distance) {
    const int source = group.before(distance), target = group.after(distance);
    exchange->receive(incoming[static_cast<std::size_t>(source)], source);
    exchange->send(outgoing[static_cast<std::size_t>(target)], target);
  }
  exchange->start();
  std::ranges::copy(outgoing[me], incoming[me].begin());
  return exchange;
}

/// Waits until the launcher has taken what this rank wrote: MPICH's drops the rest when a rank aborts.
void wait_until_read(int output) {
  using namespace std::chrono_literals;
  struct stat status {};
  if (fstat(output, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  const auto deadline = std::chrono::steady_clock::now() + 2s;
  int unread = 0;
  while (ioctl(output, FIONREAD, &unread) == 0 && unread > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm handle, Heartbeat& heartbeat, MpiProgress& progress,
                                 std::vector<int> hosts)
    : all_ranks_(*this), hosts_(std::move(hosts)), group_{handle, progress, heartbeat} {
  group_.world_ranks.resize(hosts_.size());
  std::iota(group_.world_ranks.begin(), group_.world_ranks.end(), 0);
  set_up();
}

MpiCommunicator::MpiCommunicator(MPI_Comm handle, std::vector<int> world_ranks, const MpiCommunicator& parent)
    : all_ranks_(parent.all_ranks_), group_{handle, parent.group_.progress, parent.group_.heartbeat} {
  group_.world_ranks = std::move(world_ranks);
  set_up();
}

void MpiCommunicator::set_up() {
  const MpiProgress::Lock lock = group_.progress.enter();
  check_mpi(MPI_Comm_set_errhandler(group_.handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(group_.handle, &group_.rank), "MPI_Comm_rank");
  const auto host = [&](int world_rank) { return all_ranks_.hosts_[static_cast<std::size_t>(world_rank)]; };
  group_.between_hosts = std::ranges::any_of(
      group_.world_ranks, [&](int rank) { return host(rank) != host(group_.world_ranks.front()); });
}

MpiCommunicator::~MpiCommunicator() {
  if (&all_ranks_ != this) all_ranks_.retired_.emplace(std::move(group_.world_ranks), group_.handle);
}

void MpiCommunicator::barrier() {
  if (size() == 1) return;
  const Heartbeat::Waiting waiting(group_.heartbeat, "a barrier");
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const MpiProgress::Lock lock = group_.progress.enter();
    check_mpi(MPI_Ibarrier(group_.handle, &request), "MPI_Ibarrier");
  }
  wait_for(group_, request);
}

void MpiCommunicator::sum(std::span<float> values) { all_reduce(group_, values, MPI_FLOAT, MPI_SUM); }
void MpiCommunicator::sum(std::span<double> values) { all_reduce(group_, values, MPI_DOUBLE, MPI_SUM); }
void MpiCommunicator::sum(std::span<std::int64_t> values) {
  all_reduce(group_, values, MPI_INT64_T, MPI_SUM);
}
void MpiCommunicator::maximum(std::span<double> values) { all_reduce(group_, values, MPI_DOUBLE, MPI_MAX); }

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  // A rank that waits knows for whom; in a tree it would not.
  constexpr std::int64_t kFewBytes = 1 << 12;
  if (std::ssize(bytes) <= kFewBytes) {
    MpiExchange exchange(group_, "a broadcast");
    for (int other = 0; rank() == root && other < size(); ++other)
      if (other != root) exchange.send<std::byte>(bytes, other);
    if (rank() != root) exchange.receive(bytes, root);
    exchange.start();
    exchange.wait();
    return;
  }
  const Heartbeat::Waiting waiting(group_.heartbeat, "a broadcast");
  for_chunks(std::ssize(bytes), [&](std::int64_t first, int count) {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      const MpiProgress::Lock lock = group_.progress.enter();
      check_mpi(MPI_Ibcast(bytes.data() + first, count, MPI_BYTE, root, group_.handle, &request),
                "MPI_Ibcast");
    }
    wait_for(group_, request);
  });
}

std::vector<std::vector<std::byte>> MpiCommunicator::gather(std::span<const std::byte> mine, int root) {
  const char* const what = "a gathering";
  const std::int64_t my_length = std::ssize(mine);
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::int64_t> lengths(rank() == root ? ranks : 0, my_length);
  MpiExchange announcement(group_, what), exchange(group_, what);
  for (int other = 0; other < static_cast<int>(lengths.size()); ++other)
    if (other != root)
      announcement.receive(std::span(lengths).subspan(static_cast<std::size_t>(other), 1), other);
  if (rank() != root) announcement.send(std::span(&my_length, 1), root);
  announcement.start();
  announcement.wait();
  std::vector<std::vector<std::byte>> all(lengths.size());
  for (int other = 0; other < static_cast<int>(all.size()); ++other) {
    auto& bytes = all[static_cast<std::size_t>(other)];
    bytes.resize(static_cast<std::size_t>(lengths[static_cast<std::size_t>(other)]));
    if (other != root) exchange.receive<std::byte>(bytes, other);
  }
  if (rank() == root)
    std::ranges::copy(mine, all[static_cast<std::size_t>(root)].begin());
  else
    exchange.send(mine, root);
  exchange.start();
  exchange.wait();
  return all;
}

void MpiCommunicator::all_gather(std::span<const float> mine, std::span<float> all,
                                 std::span<const std::int64_t> counts) {
  start_all_gather(mine, all, counts)->wait();
}

std::unique_ptr<Request> MpiCommunicator::start_all_gather(std::span<const float> mine, std::span<float> all,
                                                           std::span<const std::int64_t> counts) {
  return all_gather_parts(group_, mine, all, counts);
}

std::unique_ptr<Request> MpiCommunicator::start_all_gather(std::span<const std::byte> mine,
                                                           std::span<std::byte> all,
                                                           std::span<const std::int64_t> counts) {
  return all_gather_parts(group_, mine, all, counts);
}

std::unique_ptr<Request> MpiCommunicator::start_reduce_scatter(std::span<float> values,
                                                               std::span<const std::int64_t> counts) {
  return std::make_unique<MpiReduceScatter>(group_, parts(values, counts, size()), spare_buffers_);
}

void MpiCommunicator::all_to_all(std::span<const float> out, std::span<const std::int64_t> counts_out,
                                 std::span<float> in, std::span<const std::int64_t> counts_in) {
  start_all_to_all(out, counts_out, in, counts_in)->wait();
}

std::unique_ptr<Request> MpiCommunicator::start_all_to_all(std::span<const float> out,
                                                           std::span<const std::int64_t> counts_out,
                                                           std::span<float> in,
                                                           std::span<const std::int64_t> counts_in) {
  return all_to_all_parts(group_, out, counts_out, in, counts_in);
}

std::unique_ptr<Request> MpiCommunicator::start_all_to_all(std::span<const std::byte> out,
                                                           std::span<const std::int64_t> counts_out,
                                                           std::span<std::byte> in,
                                                           std::span<const std::int64_t> counts_in) {
  return all_to_all_parts(group_, out, counts_out, in, counts_in);
}

/// The ranks of this group that give the same color, by key, then by rank.
std::vector<int> MpiCommunicator::ranks_of(int color, int key) {
  const std::array mine{color, key};
  std::vector<std::array<int, 2>> all(group_.world_ranks.size());
  MPI_Request request = MPI_REQUEST_NULL;
  {
    const MpiProgress::Lock lock = group_.progress.enter();
    check_mpi(MPI_Iallgather(mine.data(), 2, MPI_INT, all.data(), 2, MPI_INT, group_.handle, &request),
              "MPI_Iallgather");
  }
  wait_for(group_, request);
  const auto choice = [&](int rank) { return all[static_cast<std::size_t>(rank)]; };
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank)
    if (choice(rank)[0] == color) ranks.push_back(rank);
  std::ranges::stable_sort(ranks, {}, [&](int rank) { return choice(rank)[1]; });
  return ranks;
}

/// Collective over `ranks` only.
MPI_Comm MpiCommunicator::make_part(const std::vector<int>& ranks) {
  MPI_Group all = MPI_GROUP_NULL, part = MPI_GROUP_NULL;
  MPI_Comm handle = MPI_COMM_NULL;
  constexpr int kTag = 0;
  const MpiProgress::Lock lock = group_.progress.enter();
  check_mpi(MPI_Comm_group(group_.handle, &all), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &part), "MPI_Group_incl");
  check_mpi(MPI_Comm_create_group(group_.handle, part, kTag, &handle), "MPI_Comm_create_group");
  MPI_Group_free(&part);
  MPI_Group_free(&all);
  return handle;
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color, int key) {
  const Heartbeat::Waiting waiting(group_.heartbeat, "the forming of groups");
  const std::vector<int> ranks = ranks_of(color, key);
  std::vector<int> world_ranks(ranks.size());
  std::ranges::transform(ranks, world_ranks.begin(), [this](int rank) { return world_rank(rank); });
  // All ranks destroy their groups in the same order, so either all or none of these have one left.
  const auto retired = all_ranks_.retired_.lower_bound(world_ranks);
  if (retired == all_ranks_.retired_.end() || retired->first != world_ranks)
    return std::make_unique<MpiCommunicator>(make_part(ranks), std::move(world_ranks), *this);
  MPI_Comm handle = retired->second;
  all_ranks_.retired_.erase(retired);
  return std::make_unique<MpiCommunicator>(handle, std::move(world_ranks), *this);
}

std::unique_ptr<Communicator> MpiCommunicator::split_by_host() {
  return split(all_ranks_.hosts_[static_cast<std::size_t>(world_rank(rank()))], rank());
}

bool MpiCommunicator::all_agree(bool mine) {
  std::int64_t refusals = mine ? 0 : 1;
  sum(std::span(&refusals, 1));
  return refusals == 0;
}

std::unique_ptr<SharedMemory> MpiCommunicator::shared(std::int64_t bytes) {
  if (size() == 1 || bytes == 0) return private_memory(bytes);
  if (!all_agree(NamedMemory::room() >= bytes + kMargin)) return nullptr;

  // Process number and time: no other job's name, and none that a killed run may have left.
  std::array<char, 64> name{};
  if (rank() == 0)
    fmt::format_to_n(name.data(), name.size() - 1, "/trainer-{}-{}", getpid(),
                     std::chrono::steady_clock::now().time_since_epoch().count());
  broadcast(std::as_writable_bytes(std::span(name)), 0);

  std::unique_ptr<NamedMemory> memory;
  if (rank() == 0) memory = NamedMemory::create(name.data(), bytes);
  if (!all_agree(rank() != 0 || memory)) return nullptr;
  if (rank() != 0) memory = NamedMemory::open(name.data(), bytes);
  const bool reserved = all_agree(memory && memory->reserve(rank(), size()));
  if (rank() == 0) NamedMemory::remove_name(name.data());
  if (!reserved || !all_agree(memory->map())) return nullptr;
  return memory;
}

std::unique_ptr<RemoteMemory> MpiCommunicator::remote_memory(std::int64_t bytes) {
  if (size() == 1) return solo_remote_memory(bytes);
  // On one host MPI takes the memory from /dev/shm, where a page that is missing is a SIGBUS.
  std::array<std::int64_t, 1> all{bytes};
  sum(all);
  const bool takes_own = all_agree(!group_.between_hosts && NamedMemory::room() >= all.front() + kMargin);
  return std::make_unique<MpiRemoteMemory>(group_, bytes, takes_own);
}

void MpiCommunicator::abort(ExitCode code) {
  const Heartbeat::Waiting waiting(group_.heartbeat, "the end of all ranks");
  std::fflush(nullptr);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) wait_until_read(output);
  // The failing rank has printed its message; MPI's own lines would bury it.
  if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  const MpiProgress::Lock lock = group_.progress.enter();
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace trainer
