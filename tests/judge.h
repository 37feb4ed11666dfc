// Tests that need another program, or data, as a judge skip themselves where it is missing; with
// LWSVM_REQUIRE_JUDGES=1 in the environment, as .ci/run sets it, they fail instead.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

namespace lwsvm {

inline ::testing::TestPartResult::Type without_judge() {
  const char* required = std::getenv("LWSVM_REQUIRE_JUDGES");
  const bool fails = required && std::string_view(required) != "" && std::string_view(required) != "0";
  return fails ? ::testing::TestPartResult::kFatalFailure : ::testing::TestPartResult::kSkip;
}

}  // namespace lwsvm

// LWSVM_NO_JUDGE() << "liblinear-train is not installed"; ends the test.
#define LWSVM_NO_JUDGE() return GTEST_MESSAGE_("", ::lwsvm::without_judge())
