// Ctrl-C, or the signal that batch systems send before they kill, asks a long
// run to end with what it has. A second one ends the program at once.
#ifndef ATTNBENCH_HARNESS_SYSTEM_INTERRUPT_H_
#define ATTNBENCH_HARNESS_SYSTEM_INTERRUPT_H_

namespace attnbench {

// From now on SIGINT and SIGTERM are noted. A signal that was ignored before,
// as in a background job of a shell, still is.
void CatchInterrupts();

bool WasInterrupted();

}  // namespace attnbench

#endif  // ATTNBENCH_HARNESS_SYSTEM_INTERRUPT_H_
