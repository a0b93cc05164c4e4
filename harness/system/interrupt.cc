#include "harness/system/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace attnbench {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;

extern "C" void NoteInterrupt(int /*signal*/) { was_interrupted = 1; }

}  // namespace

void CatchInterrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) == 0 &&
        before.sa_handler == SIG_IGN) {
      continue;
    }
    struct sigaction action {};
    action.sa_handler = NoteInterrupt;
    // The second signal ends the program.
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

bool WasInterrupted() { return was_interrupted != 0; }

}  // namespace attnbench
