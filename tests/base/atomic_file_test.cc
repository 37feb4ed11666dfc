#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

TEST(AtomicFile, NotCommittedLeavesNothing) {
  TemporaryFolder folder;
  {
    AtomicFile file(folder / "a");
    file.write("half");
  }
  EXPECT_EQ(folder.entries(), 0U);
}

TEST(AtomicFile, NotCommittedLeavesTheOldContent) {
  TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new");
    EXPECT_EQ(read_file(folder / "a"), "old");
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, CommitReplaces) {
  TemporaryFolder folder;
  write_file_atomically(folder / "a", "old and longer");
  write_file_atomically(folder / "a", std::string_view("n\0w", 3));
  EXPECT_EQ(read_file(folder / "a"), std::string("n\0w", 3));
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, NamesTheTargetThatCannotBeWritten) {
  TemporaryFolder folder;
  EXPECT_THROW(AtomicFile(folder / "absent" / "a"), Error);
  std::filesystem::create_directory(folder / "taken");
  EXPECT_THROW(write_file_atomically(folder / "taken", "x"), Error);  // a folder is in the way of the rename
  EXPECT_EQ(folder.entries(), 1U);
  EXPECT_THROW(read_file(folder / "absent"), Error);
}

}  // namespace
}  // namespace lwsvm
