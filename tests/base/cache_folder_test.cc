#include "base/cache_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/mapped_file.h"
#include "lwsvm/error.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

class Cache : public ::testing::Test {
 protected:
  void put(const std::string& kind, const std::string& name, std::size_t bytes, int used) {
    const fs::path path = cache_.path(kind, name);
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << cache_head(kind, "of " + name) << std::string(bytes, 'x');
    const timespec times[2] = {{used, 0}, {used, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const CacheEntry& entry : cache_.entries()) found.push_back(entry.description);
    return found;
  }

  TemporaryFolder folder_;
  CacheFolder cache_{folder_.path(), 4000};
};

TEST_F(Cache, ListsWhatItHoldsLastUsedFirstAndNothingElse) {
  put("photos", "a", 10, 100);
  put("features", "b", 20, 300);
  put("photos", "c", 30, 200);
  std::ofstream(folder_ / "photos/stranger.bin") << "not ours";
  fs::create_directories(folder_ / "mnist");
  std::ofstream(folder_ / "mnist/train.bin") << std::string(1000, 'm');
  EXPECT_THAT(names(), ::testing::ElementsAre("of b", "of c", "of a"));
  EXPECT_EQ(cache_.entries()[0].kind, "features");
  EXPECT_EQ(cache_.entries()[0].bytes, kCacheHead + 20);
  EXPECT_EQ(cache_.entries()[0].last_use, 300);
  CacheFolder::touch(cache_.path("photos", "a"));
  EXPECT_EQ(names()[0], "of a");
}

TEST_F(Cache, MakesRoomByRemovingWhatWasNotUsedForLongest) {
  put("photos", "a", 1000 - kCacheHead, 100);
  put("features", "b", 1000 - kCacheHead, 300);
  put("photos", "c", 1000 - kCacheHead, 200);
  EXPECT_TRUE(cache_.make_room(cache_.path("photos", "d"), 1000));
  EXPECT_THAT(names(), ::testing::ElementsAre("of b", "of c", "of a"));
  EXPECT_TRUE(cache_.make_room(cache_.path("photos", "d"), 1500));
  EXPECT_THAT(names(), ::testing::ElementsAre("of b", "of c"));
  EXPECT_TRUE(cache_.make_room(cache_.path("features", "b"), 3000));  // in its own place
  EXPECT_THAT(names(), ::testing::ElementsAre("of b", "of c"));
  EXPECT_FALSE(cache_.make_room(cache_.path("photos", "d"), 4001));
  EXPECT_THAT(names(), ::testing::ElementsAre("of b", "of c"));
}

TEST_F(Cache, IsClearedByKindOrAltogether) {
  put("photos", "a", 10, 100);
  put("features", "b", 20, 300);
  std::ofstream(folder_ / "photos/stranger.bin") << "not ours";
  EXPECT_EQ(cache_.clear("photos").size(), 1u);
  EXPECT_THAT(names(), ::testing::ElementsAre("of b"));
  EXPECT_EQ(cache_.clear().size(), 1u);
  EXPECT_TRUE(names().empty());
  EXPECT_TRUE(fs::exists(folder_ / "photos/stranger.bin"));
}

TEST_F(Cache, HeadsComeBackAndNothingElseIsOne) {
  const std::string head = cache_head("photos", "two\nlines");
  ASSERT_EQ(head.size(), kCacheHead);
  EXPECT_EQ(parse_cache_head(head)->description, "two?lines");
  EXPECT_EQ(parse_cache_head(head)->kind, "photos");
  EXPECT_EQ(cache_head("photos", std::string(9999, 'x')).size(), kCacheHead);
  EXPECT_TRUE(parse_cache_head(cache_head("photos", std::string(9999, 'x'))));
  EXPECT_FALSE(parse_cache_head(head.substr(1)));
  EXPECT_FALSE(parse_cache_head(head.substr(0, kCacheHead - 1)));
  EXPECT_FALSE(parse_cache_head(std::string(kCacheHead, '\0')));
}

TEST_F(Cache, MappedFilesAppearWholeOrNotAtAll) {
  const fs::path target = folder_ / "file";
  {
    NewMappedFile dropped(target, 100);
    dropped.bytes()[0] = 1;
  }
  EXPECT_EQ(folder_.entries(), 0u);
  NewMappedFile file(target, 10000);
  for (std::size_t i = 0; i < 9000; ++i) file.bytes()[i] = static_cast<std::uint8_t>(i % 251);
  EXPECT_FALSE(fs::exists(target));
  file.commit(9000);
  const MappedFile mapped(target);
  fs::remove(target);  // does not disturb it
  ASSERT_EQ(mapped.bytes().size(), 9000u);
  for (std::size_t i = 0; i < 9000; ++i) ASSERT_EQ(mapped.bytes()[i], i % 251);
  EXPECT_THROW(MappedFile(folder_ / "none"), Error);
  EXPECT_THROW(MappedFile(folder_.path()), Error);
  EXPECT_THROW(NewMappedFile(folder_ / "no/such/folder", 1), Error);
  std::ofstream(folder_ / "empty").flush();
  EXPECT_THROW(MappedFile(folder_ / "empty"), Error);
}

}  // namespace
}  // namespace lwsvm
