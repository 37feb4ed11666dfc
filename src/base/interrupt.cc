#include "base/interrupt.h"

#include <unistd.h>

#include <atomic>

namespace lwsvm {
namespace {

std::atomic<int> received{0};  // the first signal's number
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may use only lock-free atomics");

void on_signal(int signal) {
  int none = 0;
  // _exit, not exit: only async-signal-safe calls are allowed here, and the user asked for "now".
  if (!received.compare_exchange_strong(none, signal)) ::_exit(128 + signal);
}

void install(int signal, struct sigaction& old) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // so that reads and writes elsewhere need not know of us
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, nullptr, &old);
  if (old.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  received = 0;
  install(SIGINT, old_interrupt_);
  install(SIGTERM, old_terminate_);
}

InterruptGuard::~InterruptGuard() {
  ::sigaction(SIGINT, &old_interrupt_, nullptr);
  ::sigaction(SIGTERM, &old_terminate_, nullptr);
}

bool interrupted() {
  return received.load(std::memory_order_relaxed) != 0;
}

int interrupt_exit_code() {
  const int signal = received.load();
  return signal == 0 ? 0 : 128 + signal;
}

void request_interrupt() {
  int none = 0;
  received.compare_exchange_strong(none, SIGINT);
}

}  // namespace lwsvm
