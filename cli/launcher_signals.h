#pragma once

#include <sys/types.h>

namespace trainer {

/// From now on SIGTERM, SIGINT, SIGUSR1, and SIGHUP unless it is ignored, are noted by `trainer -n` and
/// handed to the launcher.
void take_stop_signals();
/// Where to hand them, and what has come already; 0 for nowhere.
void hand_stop_to(pid_t launcher);
/// In the launcher's process, before it becomes the launcher.
void prepare_launcher_for_stop();
/// Hands a stop on once more: launchers that have no ranks yet forget it. Ranks may be told any number of
/// times.
void repeat_stop();

/// The last of those signals that came; 0 for none.
int stopped_by();
/// Whether Ctrl-C came twice.
bool has_insisted();

}  // namespace trainer
