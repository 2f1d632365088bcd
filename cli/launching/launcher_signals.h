#pragma once

#include <sys/types.h>

namespace trainer {

// `trainer -n` forwards signals that stop a run to the MPI launcher.

/// Makes this process record SIGTERM, SIGINT, SIGUSR1, and SIGHUP and SIGPIPE unless they are ignored.
void catch_stop_signals();
/// The launcher that receives them from the first forward_stop_signals() on; 0: none.
void set_signalled_launcher(pid_t launcher);
/// In the launcher's process, before it becomes the launcher: SIGTERM does not reach it, SIGINT ends it.
void prepare_launcher_for_signals();
/// In a launched rank, which may inherit the launcher's mask: SIGTERM reaches it.
void prepare_rank_for_signals();
/// Forwards the recorded signals. Call once the launcher has ranks, as often as needed: a launcher that is
/// starting loses a signal (MPICH's may hang). A signal kills ranks that do not train yet.
void forward_stop_signals();

/// The last of those signals that came; 0: none.
int stop_signal();
/// Whether SIGINT came twice.
bool has_second_interrupt();

}  // namespace trainer
