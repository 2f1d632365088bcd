#pragma once

namespace trainer {

// OpenBLAS starts a thread for each core when it is loaded, before main(), although this program never uses
// them. Where the system refuses the threads, it raises SIGINT; where it refuses their memory (`ulimit -v`),
// they ask for ever. Then this program starts itself again with OPENBLAS_NUM_THREADS=1.

/// Gives threads and the main thread the stack that they need. Error(failure) if the limit (`ulimit -s`) is
/// too low for that.
void prepare_stacks();

/// What SIGINT does from now on: until this call it ends the process with exit code 1, since 130 stands for a
/// saved run.
void restore_interrupts();

}  // namespace trainer
