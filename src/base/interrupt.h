// Ctrl-C as a polite request: the first one sets a flag that long loops ask for, the second ends the program
// at once. What follows the first within 0.3 s is its echo, not a second wish: timeout(1) and mpirun signal
// the process and then its whole group, so that it hears every signal twice.
//
//   InterruptGuard guard;                       // in main, around the work
//   while (...) { step(); if (interrupted()) { save(); return interrupt_exit_code(); } }
//
// The public request_stop() is the same without a signal, and a StopListener a guard that handles none.
#pragma once

#include <csignal>

#include "lwsvm/stop.h"

namespace lwsvm {

// Handles SIGINT, SIGTERM and SIGHUP (the terminal is gone) while it lives and puts the earlier handlers back
// afterwards. A signal that was ignored when the program began stays ignored, as is the custom: so `nohup`
// works, and so a shell script's `lwsvm ... &` does not hear SIGINT (send SIGTERM there). Guards may nest: a
// guard around several pieces of work, each with its own, hears what comes between them too.
class InterruptGuard {
 public:
  InterruptGuard();  // the outermost also forgets an earlier interrupt
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
  struct sigaction old_hangup_ {};
};

// Ctrl-C came before there was anything to save: no error, and nothing is left behind.
class Interrupted : public Stopped {
 public:
  using Stopped::Stopped;
};

bool interrupted();         // cheap: one relaxed load
int interrupt_exit_code();  // 128 + the signal: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP, 0 if
                            // there was none
// Throws Interrupted, "stopped while `doing` ...", after Ctrl-C. Outside of any guard Ctrl-C ends the program
// by itself, and this does nothing.
void stop_if_interrupted(const char* doing);
void request_interrupt();  // as if Ctrl-C had been pressed once

}  // namespace lwsvm
