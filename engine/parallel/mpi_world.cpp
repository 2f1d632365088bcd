#include "engine/parallel/mpi_world.h"

#include <fmt/core.h>

#include <chrono>
#include <exception>
#include <thread>

#include "engine/parallel/launcher_environment.h"
#include "engine/parallel/link_speed.h"
#include "engine/parallel/mpi_communicator.h"
#include "engine/parallel/watchdog.h"
#include "engine/system/host.h"
#include "engine/system/stop_signals.h"

namespace trainer {
namespace {

/// Guards the start and the end of MPI too: both may wait for ever.
class Watch {
 public:
  Heartbeat heartbeat;

 private:
  Watchdog watchdog_{heartbeat, fmt::format("rank {} on {}", launched_by_environment().rank, host_name()),
                     // Messages of a few ranks are enough.
                     [](const std::string& message) {
                       constexpr int kReportingRanks = 16;
                       end_stalled_process(launched_by_environment().rank < kReportingRanks ? message : "");
                     }};
};

/// MPI, from MPI_Init to MPI_Finalize.
class Session {
 public:
  explicit Session(Heartbeat& heartbeat) : heartbeat_(heartbeat) {
    const Heartbeat::Waiting waiting(heartbeat_, "the start of MPI");
    int provided = MPI_THREAD_SINGLE;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (provided < MPI_THREAD_SERIALIZED)
      throw Error(ExitCode::ranks,
                  "this MPI does not let several threads of a process take turns to call it");
  }
  ~Session() {
    // MPI_Finalize waits for all ranks; after an exception here the others wait elsewhere.
    const Heartbeat::Waiting waiting(heartbeat_, "the end of MPI");
    if (std::uncaught_exceptions() == 0) MPI_Finalize();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  Heartbeat& heartbeat_;
};

/// The ranks of MPI_COMM_WORLD, those of a host made consecutive.
struct RanksByHost {
  explicit RanksByHost(Heartbeat& heartbeat) {
    const Heartbeat::Waiting waiting(heartbeat, "the forming of groups");
    MPI_Comm host = MPI_COMM_NULL;
    int first_of_host = 0, ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &first_of_host);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host),
              "MPI_Comm_split_type");
    check_mpi(MPI_Bcast(&first_of_host, 1, MPI_INT, 0, host), "MPI_Bcast");
    check_mpi(MPI_Comm_split(MPI_COMM_WORLD, 0, first_of_host, &handle), "MPI_Comm_split");
    hosts.resize(static_cast<std::size_t>(ranks));
    check_mpi(MPI_Allgather(&first_of_host, 1, MPI_INT, hosts.data(), 1, MPI_INT, handle), "MPI_Allgather");
    MPI_Comm_free(&host);
  }
  MPI_Comm handle = MPI_COMM_NULL;
  std::vector<int> hosts;  ///< by rank: the first rank of its host in MPI_COMM_WORLD
};

/// Bases are destroyed in reverse order: the watchdog outlives MPI, and MPI outlives the thread that calls
/// it.
class World final : private Watch,
                    private Session,
                    private MpiProgress,
                    private RanksByHost,
                    public MpiCommunicator {
 public:
  World()
      : Session(Watch::heartbeat),
        RanksByHost(Watch::heartbeat),
        MpiCommunicator(RanksByHost::handle, Watch::heartbeat, *this, RanksByHost::hosts) {
    const Heartbeat::Waiting waiting(Watch::heartbeat, "the links of all hosts");
    codes.use(measured_link_speed(RanksByHost::handle, RanksByHost::hosts) < kFastLink);
  }
};

}  // namespace

std::unique_ptr<Communicator> start_world() {
  const Launched launched = launched_by_environment();
  if (launched.ranks == 0) return solo();
  prepare_mpi_environment();
  // Open MPI's launcher hangs when a rank dies during MPI_Init. The watchdog's thread inherits the mask.
  const HeldStop held;
  auto world = std::make_unique<World>();
  if (world->size() == 1 && launched.ranks > 1) {
    // Each process is rank 0 of 1. The first reports; its end ends the others.
    if (launched.rank > 0) std::this_thread::sleep_for(std::chrono::seconds(2));
    throw Error(
        ExitCode::ranks,
        fmt::format("{} processes were started by a launcher that does not belong to {}, with which "
                    "this program was built",
                    launched.ranks, mpi_version()),
        fmt::format("{} -n {} ..., or trainer -n {} ...", TRAINER_MPIRUN, launched.ranks, launched.ranks));
  }
  return world;
}

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  // "Open MPI v4.1.4, package: ..." and "MPICH Version:	4.0.2\nMPICH Release date ..."
  const std::string whole(text);
  const std::size_t name_end = whole.starts_with("Open MPI") ? 8 : whole.find(' ');
  const std::size_t first = whole.find_first_of("0123456789", name_end);
  const std::size_t last = whole.find_first_not_of("0123456789.", first);
  if (first == std::string::npos) return whole.substr(0, whole.find('\n'));
  return whole.substr(0, name_end) + " " + whole.substr(first, last - first);
}

}  // namespace trainer
