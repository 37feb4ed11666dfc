#include "base/signal_stack.h"

#include <csignal>
#include <cstddef>
#include <memory>

namespace lwsvm {
namespace {

// A handler's frame holds all registers, 3 KB with AVX-512 and 11 KB with AMX.
constexpr std::size_t kBytes = std::size_t{64} << 10;

class SignalStack {
 public:
  SignalStack() {
    stack_t present{};
    if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::make_unique<std::byte[]>(kBytes);
    stack_t own{};
    own.ss_sp = memory_.get();
    own.ss_size = kBytes;
    if (::sigaltstack(&own, nullptr) != 0) memory_.reset();
  }
  ~SignalStack() {
    stack_t present{};
    if (!memory_ || ::sigaltstack(nullptr, &present) != 0 || present.ss_sp != memory_.get()) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

}  // namespace

void use_signal_stack() {
  thread_local const SignalStack stack;
}

void block_signals() {
  sigset_t blocked;
  ::sigfillset(&blocked);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
    ::sigdelset(&blocked, signal);
  ::pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
}

}  // namespace lwsvm
