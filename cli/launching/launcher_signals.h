#pragma once

#include <sys/types.h>

namespace trainer {

/// From now on SIGTERM, SIGINT, SIGUSR1, and SIGHUP unless it is ignored, are noted by `trainer -n` and
/// handed to the launcher.
void take_stop_signals();
/// Where to hand them, from hand_on_stop() on; 0 for nowhere.
void hand_stop_to(pid_t launcher);
/// In the launcher's process, before it becomes the launcher.
void prepare_launcher_for_stop();
/// The launcher has ranks by now, as far as can be told: one that has only begun forgets a stop, MPICH's may
/// lose its way, and ranks that do not train yet end. Hands on what has come, as often as it is called.
void hand_on_stop();

/// The last of those signals that came; 0 for none.
int stopped_by();
/// Whether Ctrl-C came twice.
bool has_insisted();

}  // namespace trainer
