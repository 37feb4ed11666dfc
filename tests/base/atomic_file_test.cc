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

TEST(AtomicFile, FollowsLinksAndLeavesThemInPlace) {
  namespace fs = std::filesystem;
  TemporaryFolder folder, elsewhere;
  write_file_atomically(elsewhere / "file", "old");
  fs::create_symlink(elsewhere / "file", folder / "absolute");
  fs::create_symlink("absolute", folder / "of_a_link");
  fs::create_symlink("new", folder / "dangling");
  write_file_atomically(folder / "of_a_link", "through");
  write_file_atomically(folder / "dangling", "made");
  EXPECT_EQ(read_file(elsewhere / "file"), "through");
  EXPECT_EQ(read_file(folder / "new"), "made");
  for (const char* link : {"absolute", "of_a_link", "dangling"}) EXPECT_TRUE(fs::is_symlink(folder / link));
  EXPECT_EQ(folder.entries(), 4U);
  EXPECT_EQ(elsewhere.entries(), 1U);
}

TEST(AtomicFile, RefusesLinksThatLeadNowhere) {
  namespace fs = std::filesystem;
  TemporaryFolder folder;
  fs::create_symlink("circle", folder / "circle");
  fs::create_symlink("absent/file", folder / "lost");
  for (const char* link : {"circle", "lost"}) {
    EXPECT_THROW(check_writable(folder / link), Error);
    EXPECT_THROW(write_file_atomically(folder / link, "x"), Error);
    EXPECT_TRUE(fs::is_symlink(folder / link));
  }
  EXPECT_EQ(folder.entries(), 2U);
}

TEST(AtomicFile, TakesTheLongestNameAndRefusesALongerOne) {
  TemporaryFolder folder;
  const std::string longest(255, 'n');
  EXPECT_NO_THROW(check_writable(folder / longest));
  EXPECT_EQ(folder.entries(), 0U);
  write_file_atomically(folder / longest, "x");
  EXPECT_EQ(read_file(folder / longest), "x");
  EXPECT_THROW(check_writable(folder / (longest + "n")), Error);
  EXPECT_THROW(write_file_atomically(folder / (longest + "n"), "x"), Error);
  EXPECT_EQ(folder.entries(), 1U);
}

TEST(AtomicFile, ChecksWithoutATrace) {
  TemporaryFolder folder;
  write_file_atomically(folder / "old", "old");
  EXPECT_NO_THROW(check_writable(folder / "old"));
  EXPECT_NO_THROW(check_writable(folder / "new"));
  EXPECT_THROW(check_writable(folder / "absent" / "new"), Error);
  EXPECT_THROW(check_writable(folder.path()), Error);
  EXPECT_EQ(read_file(folder / "old"), "old");
  EXPECT_EQ(folder.entries(), 1U);
}

}  // namespace
}  // namespace lwsvm
