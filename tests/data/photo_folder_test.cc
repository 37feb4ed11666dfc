// Folders and lists of photos, and the cache file between commands.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/interrupt.h"
#include "data/files.h"
#include "data/made_photos.h"
#include "data/photo_folder.h"
#include "data/photo_store.h"

namespace lwsvm {
namespace {

using namespace lwsvm::test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class Heard final : public Messages {
 public:
  using Messages::line;
  void line(std::string_view text) override { said += std::string(text) + "\n"; }
  void progress(std::string_view, std::uint64_t done, std::uint64_t total) override {
    EXPECT_LE(done, total);
  }
  std::string said;
};

class PhotoFolder : public ::testing::Test {
 protected:
  PhotoFolder() {
    options_.messages = &heard_;
    options_.photos.crop_height = options_.photos.crop_width = 8;
    options_.photos.cache = (folder_ / "cache").string();
  }
  void put(const std::string& name, const std::string& bytes) { write_bytes(root() / name, bytes); }
  void put_classes(const std::string& under = "", int photos = 3) {
    for (int i = 0; i < photos; ++i) {
      put(fmt::format("{}bee/{}.jpg", under, i), jpeg_bytes(20 + i, 16, i));
      put(fmt::format("{}ant/{}.png", under, i), png_bytes(16, 20 + i, 10 + i));
    }
  }
  fs::path root() const { return folder_ / "photos"; }
  DataSet load() {
    heard_.said.clear();
    return load_data(root().string(), options_);
  }
  std::string error() {
    return error_of([&] { load(); });
  }
  fs::path cache_file() {
    const auto entries = CacheFolder(options_.photos.cache).entries();
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? fs::path() : entries[0].path;
  }
  bool decodes() {
    load();
    return heard_.said.find("decoded") != std::string::npos;
  }

  TemporaryFolder folder_;
  Heard heard_;
  LoadOptions options_;
};

bool same(const DataSet& a, const DataSet& b) {
  return a.shape == b.shape && a.classes == b.classes && a.class_names == b.class_names &&
         checksum(a) == checksum(b);
}

TEST_F(PhotoFolder, HoldsOneFolderPerClassInTheOrderOfTheirNames) {
  put_classes();
  const DataSet data = load();
  EXPECT_EQ(data.name, "photos");
  EXPECT_THAT(data.class_names, ElementsAre("ant", "bee"));
  EXPECT_THAT(data.train.labels(), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_TRUE(data.test.empty() && data.validation.empty());
  EXPECT_EQ(data.shape, (ImageShape{3, 8, 8}));
  EXPECT_EQ(data.photos, "resize=9 crop=8x8");
  for (std::size_t i = 0; i < 3; ++i) {
    const auto one = photo_sample(root() / fmt::format("bee/{}.jpg", i), PhotoGeometry{3, 8, 8, 9});
    EXPECT_EQ(sample(data.train, 3 + i), std::vector<float>(one.begin(), one.end()));
  }
}

TEST_F(PhotoFolder, WithPartsHasTrainingValidationAndTestSamples) {
  put_classes("train/", 4);
  put_classes("val/", 2);
  const DataSet two = load();
  EXPECT_EQ(two.train.size(), 8u);
  EXPECT_EQ(two.test.size(), 4u);  // no other test part
  EXPECT_TRUE(two.validation.empty());
  EXPECT_THAT(heard_.said, HasSubstr("val is the test part"));
  put_classes("test/", 1);
  put("extra/bee/1.jpg", jpeg_bytes(20, 20));
  const DataSet three = load();
  EXPECT_EQ(three.validation.size(), 4u);
  EXPECT_EQ(three.test.size(), 2u);
  EXPECT_THAT(heard_.said, AllOf(HasSubstr("extra"), Not(HasSubstr("val is the test part"))));
  EXPECT_EQ(sample(three.validation, 1), sample(two.test, 1));
}

TEST_F(PhotoFolder, MayHaveAClassCalledTrain) {
  put_classes();
  put("train/1.jpg", jpeg_bytes(20, 20));
  EXPECT_THAT(load().class_names, ElementsAre("ant", "bee", "train"));
}

TEST_F(PhotoFolder, OfOnePartSaysWhichFolderToGive) {
  put_classes("test/");
  EXPECT_THAT(error(), AllOf(HasSubstr("no train"), HasSubstr((root() / "test").string())));
}

TEST_F(PhotoFolder, LeavesOutAndListsWhatIsNoPhoto) {
  put_classes();
  const DataSet before = load();
  put("bee/README", "about bees");
  put("bee/.DS_Store", std::string("\0\0\0\1Bud1", 8));
  put("ant/none.gif", "GIF89a....");
  put("ant/phone.heic", std::string("\0\0\0\x18", 4) + "ftypheic");
  ::mkfifo((root() / "ant/pipe").c_str(), 0600);
  put("ant/.thumbnails/1.jpg", jpeg_bytes(9, 9));
  const DataSet after = load();
  EXPECT_THAT(heard_.said,
              AllOf(HasSubstr("bee/README (text)"), HasSubstr("bee/.DS_Store"), HasSubstr("none.gif (GIF)"),
                    HasSubstr("phone.heic (HEIC)"), HasSubstr("ant/pipe")));
  EXPECT_TRUE(same(before, after));
}

TEST_F(PhotoFolder, NamesADamagedPhotoOrLeavesItOut) {
  put_classes();
  const DataSet whole = load();
  const std::string jpeg = jpeg_bytes(64, 64), png = png_bytes(64, 64), webp = webp_bytes(64, 64);
  for (const auto& [name, bytes] : {std::pair{"bee/cut.jpg", jpeg.substr(0, jpeg.size() / 2)},
                                    {"bee/cut.png", png.substr(0, png.size() / 2)},
                                    {"bee/cut.webp", webp.substr(0, webp.size() / 2)},
                                    {"bee/page.jpg", std::string("<html>not found")},
                                    {"ant/empty.png", std::string()}}) {
    SCOPED_TRACE(name);
    put(name, bytes);
    options_.photos.skip_bad = false;
    EXPECT_THAT(error(), AllOf(HasSubstr((root() / name).string()), HasSubstr("--skip-bad")));
    EXPECT_THAT(error(), HasSubstr(name));  // from the cache, too
    options_.photos.skip_bad = true;
    EXPECT_TRUE(same(load(), whole));
    EXPECT_THAT(heard_.said, HasSubstr(name));
    fs::remove(root() / name);
  }
  options_.photos.skip_bad = false;
  fs::create_symlink("nowhere.jpg", root() / "bee/link.jpg");
  EXPECT_THAT(error(), HasSubstr("link.jpg"));
  put("ant/more.jpg", "x");
  EXPECT_THAT(error(), HasSubstr("1 more"));
}

TEST_F(PhotoFolder, WithoutTwoClassesOrPhotosIsOneClearLine) {
  put("bee/1.jpg", jpeg_bytes(20, 20));
  EXPECT_THAT(error(), AllOf(HasSubstr("one class, bee")));
  put("ant/README", "none");
  EXPECT_THAT(error(), AllOf(HasSubstr("no photo to learn this class from: ant")));
  fs::create_directories(root() / "wasp");
  EXPECT_THAT(error(), AllOf(HasSubstr("these classes"), HasSubstr("ant, wasp")));
}

TEST_F(PhotoFolder, FollowsLinksButNotInCircles) {
  put_classes();
  const DataSet plain = load();
  fs::create_directory_symlink("..", root() / "bee/up");
  fs::create_directory_symlink(".", root() / "bee/self");
  fs::create_symlink("circle", root() / "bee/circle");
  options_.photos.skip_bad = true;
  EXPECT_TRUE(same(load(), plain));
  EXPECT_THAT(heard_.said,
              AllOf(HasSubstr("bee/self leads back"), HasSubstr("bee/up leads back"), HasSubstr("circle")));
  fs::remove(root() / "bee/up");
  fs::remove(root() / "bee/self");
  fs::remove(root() / "bee/circle");
  write_bytes(folder_ / "elsewhere/3.jpg", jpeg_bytes(30, 20, 9));
  fs::create_directory_symlink(folder_ / "elsewhere", root() / "bee/more");
  EXPECT_EQ(load().train.size(), plain.train.size() + 1);
}

TEST_F(PhotoFolder, ThatCannotBeReadIsNamed) {
  put_classes();
  fs::permissions(root() / "bee", fs::perms::none);
  if (::geteuid() != 0) {
    EXPECT_THAT(error(), AllOf(HasSubstr("bee"), HasSubstr("cannot be read")));
  } else {  // who may read everything: so in a process of somebody else
    fs::permissions(folder_.path(), fs::perms(0755));
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr uid_t kNobody = 65534;
      if (::setuid(kNobody) != 0) ::_exit(2);
      options_.photos.cache_limit = 0;
      const std::string said = error();
      ::_exit(said.find("bee: the folder cannot be read") != std::string::npos ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  fs::permissions(root() / "bee", fs::perms::owner_all);
}

TEST_F(PhotoFolder, NumbersClassesAsTheNetworkDoes) {
  put_classes();
  options_.class_names = {"wasp", "bee", "ant"};
  const DataSet data = load();
  EXPECT_EQ(data.classes, 3);
  EXPECT_EQ(data.class_names, options_.class_names);
  EXPECT_THAT(data.train.labels(), ElementsAre(2, 2, 2, 1, 1, 1));
  fs::remove_all(root() / "ant");  // one of the network's classes is enough to judge it
  EXPECT_THAT(load().train.labels(), ElementsAre(1, 1, 1));
  put_classes();
  options_.class_names = {"cat", "dog"};  // another network altogether
  EXPECT_THAT(load().class_names, ElementsAre("ant", "bee"));
}

TEST_F(PhotoFolder, GivesTheSameSamplesWithAnyNumberOfThreads) {
  put_classes("", 20);
  options_.photos.cache_limit = 0;
  options_.threads = 1;
  const DataSet one = load();
  options_.threads = 7;
  EXPECT_TRUE(same(one, load()));
}

TEST_F(PhotoFolder, AsAListHasPathsLabelsAndParts) {
  put_classes();
  put("list.csv",
      "path,label,split\nbee/0.jpg,10,train\n\"bee/1.jpg\",9,\r\nant/0.png,10,test\nant/1.png,9,val\n");
  DataSet data = load_data((root() / "list.csv").string(), options_);
  EXPECT_THAT(data.class_names, ElementsAre("9", "10"));  // numbers in their order
  EXPECT_THAT(data.train.labels(), ElementsAre(0, 1));
  EXPECT_THAT(data.validation.labels(), ElementsAre(0));
  EXPECT_THAT(data.test.labels(), ElementsAre(1));
  put("names.csv",
      "\xEF\xBB\xBF"
      "bee/0.jpg,\"a \"\"bee\"\", striped\"\nant/0.png,Ant\n");
  data = load_data((root() / "names.csv").string(), options_);
  EXPECT_THAT(data.class_names, ElementsAre("Ant", "a \"bee\", striped"));
  for (const auto& [text, what] : {std::pair{"bee/0.jpg\n", "line 1: expected path,label"},
                                   {"a,b\n\nc,\n", "line 3: expected"},
                                   {"a,b,elsewhere\n", "'elsewhere'"},
                                   {"a,\"b\n", "never closed"},
                                   {"", "no photo is named"},
                                   {"bee/0.jpg,1\nbee/1.jpg,1\n", "one class"},
                                   {"bee/0.jpg,1\nbee/9.jpg,2\n", "bee/9.jpg"}}) {
    put("bad.csv", text);
    EXPECT_THAT(error_of([&] { load_data((root() / "bad.csv").string(), options_); }), HasSubstr(what));
  }
}

TEST_F(PhotoFolder, IsDecodedOnce) {
  put_classes();
  EXPECT_TRUE(decodes());
  const DataSet first = load();
  EXPECT_FALSE(decodes());
  EXPECT_TRUE(same(first, load()));
  options_.photos.stretch = true;
  EXPECT_TRUE(decodes());
  EXPECT_FALSE(decodes());
  options_.photos.stretch = false;
  EXPECT_FALSE(decodes());
}

TEST_F(PhotoFolder, HasRandomCropsOfItsTrainingPhotosAlone) {
  put_classes("train/");
  put_classes("test/", 2);
  EXPECT_TRUE(load().train_crops.empty());
  options_.crops = 2;
  const DataSet data = load();
  EXPECT_THAT(heard_.said, AllOf(HasSubstr("random crop 1"), HasSubstr("random crop 2")));
  ASSERT_EQ(data.train_crops.size(), 2u);
  for (const Samples& crop : data.train_crops) EXPECT_EQ(crop.labels(), data.train.labels());
  EXPECT_NE(data.train_crops[0].checksum(), data.train_crops[1].checksum());
  EXPECT_NE(data.train_crops[0].checksum(), data.train.checksum());
  const DataSet again = load();
  EXPECT_THAT(heard_.said, Not(HasSubstr("decoded")));
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_EQ(again.train_crops[k].checksum(), data.train_crops[k].checksum());
}

TEST_F(PhotoFolder, ThatChangedDecodesOnlyWhatChanged) {
  put_classes();
  load();
  put("bee/9.jpg", jpeg_bytes(33, 20, 5));
  put("ant/1.png", png_bytes(40, 17, 8));  // other bytes under the same name
  fs::remove(root() / "ant/0.png");
  const DataSet data = load();
  EXPECT_THAT(heard_.said, HasSubstr("decoded 2 photos to 3x8x8"));
  options_.photos.cache_limit = 0;
  EXPECT_TRUE(same(data, load()));
}

TEST_F(PhotoFolder, DoesNotBelieveACacheFileThatIsCutOffOrDamaged) {
  put_classes();
  const DataSet whole = load();
  const fs::path file = cache_file();
  const std::string bytes = read_file(file);
  EXPECT_TRUE(open_photo_store(file));
  const auto is_made_again = [&](const std::string& content) {
    fs::remove(file);  // `whole` still looks at it
    write_bytes(file, content);
    const DataSet again = load();
    EXPECT_THAT(heard_.said, HasSubstr("decoded"));
    EXPECT_TRUE(same(whole, again));
    EXPECT_TRUE(read_file(file) == bytes);
  };
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, kCacheHead, kCacheHead + 20, bytes.size() / 2, bytes.size() - 1})
    is_made_again(bytes.substr(0, length));
  is_made_again(bytes + "x");
  // One changed byte in each field, in the tables, and in the pixels; zeros up to the page are not looked at.
  const std::size_t front = bytes.size() - whole.train.size() * whole.train.sample_size();
  std::size_t used = front;
  while (bytes[used - 1] == '\0') --used;
  for (std::size_t at = kCacheHead; at < bytes.size(); at += at < used ? 7 : 97) {
    if (at >= used && at < front) continue;
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    is_made_again(damaged);
  }
  std::string other_version = bytes;
  other_version[kCacheHead] ^= 0x40;
  is_made_again(other_version);
}

TEST_F(PhotoFolder, WorksWithoutACacheThatCanBeWritten) {
  put_classes();
  const DataSet kept = load();
  write_bytes(folder_ / "file", "no folder");
  options_.photos.cache = (folder_ / "file").string();
  EXPECT_TRUE(same(kept, load()));
  EXPECT_THAT(heard_.said, HasSubstr("kept in memory"));
  options_.photos.cache = (folder_ / "small").string();
  options_.photos.cache_limit = 100;
  EXPECT_TRUE(same(kept, load()));
  EXPECT_THAT(heard_.said, HasSubstr("no room"));
}

TEST_F(PhotoFolder, StopsAtCtrlCAndLeavesNoHalfFile) {
  put_classes("", 30);
  const InterruptGuard guard;
  request_interrupt();
  EXPECT_THROW(load(), Interrupted);
  EXPECT_TRUE(CacheFolder(options_.photos.cache).entries().empty());
  EXPECT_TRUE(fs::is_empty(folder_ / "cache/photos"));
}

TEST_F(PhotoFolder, SurvivesBeingKilledWhileItDecodes) {
  put_classes("", 40);
  for (int i = 0; i < 3; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      load();
      ::_exit(0);
    }
    ::usleep(2000 * (i + 1));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  const DataSet data = load();
  options_.photos.cache_limit = 0;
  EXPECT_TRUE(same(data, load()));
  options_.photos.cache_limit = kDefaultCacheLimit;
  EXPECT_FALSE(decodes());
  const auto files = std::distance(fs::directory_iterator(folder_ / "cache/photos"), {});
  EXPECT_EQ(files, 1);  // what was left half done is gone
}

}  // namespace
}  // namespace lwsvm
