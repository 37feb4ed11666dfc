#include "base/machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/version.h"

namespace lwsvm {
namespace {

TEST(Machine, IsDescribed) {
  const Machine machine = describe_machine();
  EXPECT_FALSE(machine.cpu.empty());
  EXPECT_GE(machine.cores, 1);
  EXPECT_GT(machine.memory, 64ULL << 20);
  EXPECT_LT(machine.memory, 1ULL << 50);
}

TEST(Machine, PeakMemoryGrowsWithUseAndStays) {
  const std::uint64_t before = peak_memory();
  constexpr std::size_t kBytes = 256U << 20;
  {
    std::vector<char> used(kBytes);
    std::memset(used.data(), 1, used.size());
    asm volatile("" : : "r"(used.data()) : "memory");  // or the whole block would be optimised away
    EXPECT_GE(current_memory(), kBytes);
  }
  EXPECT_GE(peak_memory(), kBytes);
  EXPECT_GE(peak_memory(), before);
  EXPECT_GE(peak_memory(), current_memory());
}

TEST(Version, IsFilledIn) {
  EXPECT_GE(std::strlen(version()), 5U);
  EXPECT_EQ(std::strchr(version(), '@'), nullptr);
  EXPECT_TRUE(version_line().starts_with("lwsvm " + std::string(version()) + " ("));
}

}  // namespace
}  // namespace lwsvm
