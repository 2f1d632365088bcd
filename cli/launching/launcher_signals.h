#pragma once

#include <sys/types.h>

namespace trainer {

// `trainer -n` forwards signals that stop a run to the MPI launcher.

/// From now on this process notes SIGTERM, SIGINT, SIGUSR1, and SIGHUP and SIGPIPE unless they are ignored.
void catch_stop_signals();
/// The launcher that gets them, from forward_stop_signals() on; 0: none.
void set_signalled_launcher(pid_t launcher);
/// In the launcher's process, before it becomes the launcher.
void prepare_launcher_for_signals();
/// Forwards what has come. To be called when the launcher has ranks, as often as one likes: a launcher that
/// has only begun loses a signal, MPICH's may hang, and ranks that do not train yet die of it.
void forward_stop_signals();

/// The last of those signals that came; 0: none.
int stop_signal();
/// Whether SIGINT came twice.
bool has_second_interrupt();

}  // namespace trainer
