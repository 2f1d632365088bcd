#include "cli/launching/cpu_affinity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "cli/terminal/arguments.h"
#include "cli/terminal/text.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {
namespace {

/// The first number of OMP_NUM_THREADS, which may be a list for nested levels; 0: not set.
int openmp_threads() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  int threads = 0;
  if (!text) return 0;
  const auto read = std::from_chars(text, text + std::strlen(text), threads);
  if (read.ec == std::errc::result_out_of_range || threads > kMaxThreads)
    throw Error(ExitCode::usage, fmt::format("OMP_NUM_THREADS={} is too large", text),
                fmt::format("at most {}", kMaxThreads));
  return std::max(threads, 0);
}

}  // namespace

CpuAffinity set_cpu_affinity(Communicator& world, int threads) {
  const auto host = world.split_by_host();
  PlacementRequest request{.local_rank = host->rank(),
                           .local_ranks = host->size(),
                           .threads = threads,
                           .bound = binding_was_chosen()};
  // mpirun binds each rank to one core by default. Unless the user asked for that, ranks share all cores of
  // the host.
  request.cores = request.bound ? usable_cores() : host_cores();
  request.granted = granted_cores(request.cores);
  if (threads > 0) {
    request.reason = "--threads";
  } else if (openmp_threads() > 0) {
    request.threads = openmp_threads();
    request.reason = "OMP_NUM_THREADS";
  } else if (request.bound) {
    request.reason = "bound by the launcher";
  }
  CpuAffinity affinity{.placement = place(request)};

  // Hosts may differ, but all ranks use the same number of threads.
  std::array<double, 2> largest{-static_cast<double>(affinity.placement.threads),
                                affinity.placement.oversubscribed ? 1.0 : 0.0};
  world.maximum(largest);
  affinity.placement.threads = -static_cast<int>(largest[0]);
  affinity.placement.oversubscribed = largest[1] > 0;
  std::int64_t hosts = host->rank() == 0 ? 1 : 0;
  world.sum(std::span(&hosts, 1));
  affinity.hosts = static_cast<int>(hosts);
  affinity.local_ranks = host->size();
  affinity.cores = request.bound ? affinity.local_ranks : request.granted;
  const int sharers = request.bound ? 1 : host->size(), cores = request.granted;
  if (request.threads > std::max(1, cores / sharers))
    affinity.warning =
        fmt::format("{} x {} on {}: threads will wait for each other", counted(sharers, "process", "es"),
                    counted(request.threads, "thread"), counted(cores, "core"));
  run_on(affinity.placement.cores);
  return affinity;
}

int workers_of(int workers, int threads) {
  if (workers > threads)
    throw Error(
        ExitCode::usage,
        fmt::format("--workers {} is more than the {} of a process", workers, counted(threads, "thread")),
        fmt::format("at most --workers {}, or --threads {}", threads, workers));
  return workers > 0 ? workers : threads;
}

std::string threads_text(int threads, int workers) {
  return counted(threads, "thread") + (workers < threads ? " (" + counted(workers, "worker") + ")" : "");
}

}  // namespace trainer
