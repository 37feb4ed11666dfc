// Ctrl-C as a polite request: the first one sets a flag that long loops ask for, the second ends the program
// at once. What follows the first within 0.3 s is its echo, not a second wish: timeout(1) and mpirun signal
// the process and then its whole group, so that it hears every signal twice.
//
//   InterruptGuard guard;                       // in main, around the work
//   while (...) { step(); if (interrupted()) { save(); return interrupt_exit_code(); } }
#pragma once

#include <csignal>

namespace lwsvm {

// Handles SIGINT and SIGTERM while it lives and puts the earlier handlers back afterwards. A signal that was
// ignored when the program began stays ignored, as is the custom: so `nohup` works, and so a shell script's
// `lwsvm ... &` does not hear SIGINT (send SIGTERM there). Guards may nest: a guard around several pieces of
// work, each with its own, hears what comes between them too.
class InterruptGuard {
 public:
  InterruptGuard();  // the outermost also forgets an earlier interrupt
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

bool interrupted();         // cheap: one relaxed load
int interrupt_exit_code();  // 128 + the signal: 130 after Ctrl-C, 143 after SIGTERM, 0 if there was none
void request_interrupt();   // as if Ctrl-C had been pressed once; for tests and for time limits

}  // namespace lwsvm
