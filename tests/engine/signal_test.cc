// Signals in the midst of oneDNN's kernels.
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "base/random.h"
#include "engine/gemm.h"
#include "engine/threads.h"

namespace lwsvm {
namespace {

// As much of the stack as the frame of a careless handler takes.
void write_over_the_stack(int /*signal*/) {
  volatile char bytes[2048];
  for (volatile char& byte : bytes) byte = 0x5a;
}

// While it lives, the thread that made it is interrupted all the time.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction action {};
    action.sa_handler = write_over_the_stack;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGUSR1, &action, &before_);
    sender_ = std::thread([this, target = ::pthread_self()] {
      while (!over_) {
        ::pthread_kill(target, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    });
  }
  ~Interruptions() {
    over_ = true;
    sender_.join();
    ::sigaction(SIGUSR1, &before_, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

 private:
  struct sigaction before_ {};
  std::atomic<bool> over_ = false;
  std::thread sender_;
};

TEST(SignalThreads, DoNotDisturbAMatrixProduct) {
  const std::int64_t m = 96, n = 64, k = 300;
  Random random(3, 3);
  std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(n * k));
  for (float& x : a) x = static_cast<float>(random.uniform(-1, 1));
  for (float& x : b) x = static_cast<float>(random.uniform(-1, 1));
  const auto product = [&] {
    std::vector<float> c(static_cast<std::size_t>(m * n), 0.0f);
    Threads(1).for_each(1, [&](int, int) {
      gemm(Transpose::no, Transpose::yes, m, n, k, 1.0f, a.data(), k, b.data(), k, 0.0f, c.data(), n);
    });
    return c;
  };
  const std::vector<float> expected = product();
  const Interruptions interruptions;
  for (int round = 0; round < 2000; ++round) ASSERT_EQ(product(), expected) << "round " << round;
}

TEST(SignalThreads, ComputeOnAStackThatHandlersLeaveAlone) {
  const Threads threads(2);
  for (int round = 0; round < 20; ++round)
    threads.for_each(8, [](int, int worker) {
      stack_t stack{};
      ASSERT_EQ(::sigaltstack(nullptr, &stack), 0);
      EXPECT_EQ(stack.ss_flags & SS_DISABLE, 0);
      sigset_t blocked;
      ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &blocked), 0);
      if (worker > 0) {
        EXPECT_EQ(::sigismember(&blocked, SIGTERM), 1) << "of ours: the caller's threads answer";
      }
    });
}

}  // namespace
}  // namespace lwsvm
