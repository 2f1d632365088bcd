#pragma once

namespace trainer {

// OpenBLAS starts a thread for each core when it is loaded, before main(); this program never uses them. If
// the system refuses the threads, OpenBLAS raises SIGINT; if it refuses their memory (`ulimit -v`, `-d`),
// they retry for ever. In both cases this program starts itself again with OPENBLAS_NUM_THREADS=1.

/// Gives threads and the main thread the stack that they need. Error(failure) if the limit (`ulimit -s`) is
/// too low for that. Until this call memory that is exhausted ends the process with an error and exit code 1.
void prepare_stacks();

/// Restores the default action of SIGINT. Until this call SIGINT ends the process with exit code 1, since 130
/// means a saved run.
void restore_interrupts();

}  // namespace trainer
