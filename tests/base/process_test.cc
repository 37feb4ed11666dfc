#include "base/process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace lwsvm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Process, StatusOutputAndFolderAreThoseOfTheProgram) {
  TemporaryFolder folder;
  const auto result = run_process({"sh", "-c", "pwd; echo wrong >&2; exit 3"}, folder.path());
  EXPECT_TRUE(result.found);
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.output, AllOf(HasSubstr(folder.path().filename().string()), HasSubstr("wrong")));
  EXPECT_FALSE(run_process({"lwsvm-no-such-program"}, folder.path()).found);
}

TEST(Process, AnExceptionWhileWaitingEndsTheProgram) {
  TemporaryFolder folder;
  struct Interrupted {};
  EXPECT_THROW(run_process({"sleep", "100"}, folder.path(), [] { throw Interrupted(); }), Interrupted);
}

}  // namespace
}  // namespace lwsvm
