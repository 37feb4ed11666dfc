#include "engine/instruction_set.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/simd.h"

namespace lwsvm {
namespace {

// The word after --isa= on this program's command line; empty: the machine's own instruction set.
std::string isa_asked_for() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string argument; std::getline(file, argument, '\0');)
    if (argument.starts_with("--isa=")) return argument.substr(6);
  return "";
}

// Tests for lesser instruction sets (engine@AVX2/..., cmake/lwsvm_target.cmake) would pass for no reason if
// the switches did not reach them.
TEST(InstructionSet, IsTheOneThatTheTestsAreFor) {
  const std::string asked = isa_asked_for();
  if (asked.empty()) GTEST_SKIP() << "no --isa= was given: whatever the machine has";
  EXPECT_EQ(instruction_set_name(), asked == "SSE41" ? "SSE4.1" : asked);
  const std::string loops = simd_level();
  if (loops == "as compiled") return;
  EXPECT_EQ(loops, asked == "SSE41" ? "SSE2" : asked);
}

}  // namespace
}  // namespace lwsvm
