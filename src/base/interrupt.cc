#include "base/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>
#include <string>

#include "base/signal_stack.h"

namespace lwsvm {
namespace {

constexpr std::int64_t kEchoNanoseconds = 300'000'000;

std::atomic<int> guards{0};  // and listeners that live

std::atomic<int> received{0};              // the first signal's number
std::atomic<std::int64_t> received_at{0};  // and when it came
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free,
              "a signal handler may use only lock-free atomics");

// clock_gettime is async-signal-safe; std::chrono does not promise to be.
std::int64_t now_in_nanoseconds() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

void on_signal(int signal) {
  const std::int64_t now = now_in_nanoseconds();
  int none = 0;
  if (received.compare_exchange_strong(none, signal)) {
    received_at = now;
  } else if (now - received_at > kEchoNanoseconds) {
    // Not exit: only async-signal-safe calls are allowed here, and the user asked for "now".
    ::_exit(128 + signal);
  }
}

void install(int signal, struct sigaction& old) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  // Reads and writes elsewhere need not know of us, and neither need kernels under way (signal_stack.h).
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(signal, nullptr, &old);
  if (old.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (guards++ == 0) received = 0;
  use_signal_stack();
  install(SIGINT, old_interrupt_);
  install(SIGTERM, old_terminate_);
  install(SIGHUP, old_hangup_);
}

InterruptGuard::~InterruptGuard() {
  --guards;
  ::sigaction(SIGINT, &old_interrupt_, nullptr);
  ::sigaction(SIGTERM, &old_terminate_, nullptr);
  ::sigaction(SIGHUP, &old_hangup_, nullptr);
}

StopListener::StopListener() {
  if (guards++ == 0) received = 0;
}

StopListener::~StopListener() {
  if (--guards == 0) received = 0;
}

bool interrupted() {
  return received.load(std::memory_order_relaxed) != 0;
}

int interrupt_exit_code() {
  const int signal = received.load();
  return signal == 0 ? 0 : 128 + signal;
}

void stop_if_interrupted(const char* doing) {
  if (interrupted() && guards > 0)
    throw Interrupted(std::string("stopped while ") + doing + ", before there was anything to write");
}

void request_stop() {
  if (guards > 0) request_interrupt();
}

void request_interrupt() {
  int none = 0;
  received.compare_exchange_strong(none, SIGINT);
}

}  // namespace lwsvm
