#include "base/interrupt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace lwsvm {
namespace {

TEST(Interrupt, SignalSetsTheFlag) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const InterruptGuard guard;
    EXPECT_FALSE(interrupted());
    EXPECT_EQ(interrupt_exit_code(), 0);
    std::raise(signal);
    EXPECT_TRUE(interrupted());
    EXPECT_EQ(interrupt_exit_code(), 128 + signal);
  }
}

TEST(Interrupt, GuardPutsTheOldHandlersBack) {
  static volatile std::sig_atomic_t heard = 0;
  const auto before = std::signal(SIGINT, [](int) { heard = 1; });
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
    EXPECT_EQ(heard, 0);
  }
  std::raise(SIGINT);
  EXPECT_EQ(heard, 1);
  std::signal(SIGINT, before);
}

TEST(Interrupt, IgnoredStaysIgnored) {
  const auto before = std::signal(SIGINT, SIG_IGN);
  {
    const InterruptGuard guard;
    std::raise(SIGINT);
    EXPECT_FALSE(interrupted());
  }
  std::signal(SIGINT, before);
}

TEST(Interrupt, RequestCountsAsTheFirst) {
  const InterruptGuard guard;
  request_interrupt();
  EXPECT_TRUE(interrupted());
  EXPECT_EQ(interrupt_exit_code(), 130);
}

TEST(Interrupt, InnerGuardForgetsNothing) {
  const InterruptGuard outer;
  request_interrupt();
  {
    const InterruptGuard inner;
    EXPECT_TRUE(interrupted());
  }
  EXPECT_EQ(interrupt_exit_code(), 130);
}

TEST(Interrupt, NextGuardForgetsTheLast) {
  {
    const InterruptGuard guard;
    request_interrupt();
  }
  const InterruptGuard guard;
  EXPECT_FALSE(interrupted());
}

TEST(Interrupt, EchoOfTheFirstIsNotASecond) {
  const InterruptGuard guard;
  std::raise(SIGINT);
  std::raise(SIGINT);
  EXPECT_EQ(interrupt_exit_code(), 130);
}

TEST(InterruptDeathTest, SecondOneExitsAtOnce) {
  EXPECT_EXIT(
      {
        const InterruptGuard guard;
        std::raise(SIGINT);
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        std::raise(SIGINT);
        std::exit(0);
      },
      testing::ExitedWithCode(130), "");
}

TEST(Interrupt, StopsWhatAsksForItInsideAGuardOnly) {
  {
    const InterruptGuard guard;
    EXPECT_NO_THROW(stop_if_interrupted("testing"));
    request_interrupt();
    EXPECT_THROW(stop_if_interrupted("testing"), Interrupted);
  }
  EXPECT_NO_THROW(stop_if_interrupted("testing")) << "outside the signal has ended the program";
}

}  // namespace
}  // namespace lwsvm
