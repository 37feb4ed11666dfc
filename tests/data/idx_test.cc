#include "data/idx.h"

#include "data/files.h"
#include "data/made_files.h"

namespace lwsvm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace lwsvm::test;

std::string counting(std::size_t count, int start = 0) {
  std::string values(count, '\0');
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<char>(start + static_cast<int>(i) * 7);
  return values;
}

const std::string kLabels{'\0', '\2', '\1'};

// Three training and two test images of 2 x 4.
void write_folder(const std::filesystem::path& folder, bool packed) {
  const auto put = [&](const std::string& name, const std::string& content) {
    write_bytes(folder / (packed ? name + ".gz" : name), packed ? gzipped(content) : content);
  };
  put("train-images-idx3-ubyte", idx({3, 2, 4}, counting(24)));
  put("train-labels-idx1-ubyte", idx({3}, kLabels));
  put("t10k-images-idx3-ubyte", idx({2, 2, 4}, counting(16, 100)));
  put("t10k-labels-idx1-ubyte", idx({2}, kLabels.substr(1)));
}

TEST(Idx, RawAndPackedFoldersGiveBackWhatWasWritten) {
  for (const bool packed : {false, true}) {
    SCOPED_TRACE(packed);
    TemporaryFolder folder;
    write_folder(folder.path(), packed);
    const DataSet data = load_data(folder.path().string());
    EXPECT_EQ(data.shape, (ImageShape{1, 2, 4}));
    EXPECT_EQ(to_string(data.shape), "1x2x4");
    EXPECT_EQ(data.classes, 3);
    EXPECT_EQ(data.train.labels(), (std::vector<std::int32_t>{0, 2, 1}));
    EXPECT_EQ(data.test.labels(), (std::vector<std::int32_t>{2, 1}));
    std::vector<float> image(8);
    for (std::size_t i = 0; i < 3; ++i) {
      data.train.read(i, image.data());
      for (std::size_t p = 0; p < 8; ++p) {
        EXPECT_EQ(image[p], static_cast<float>(static_cast<std::uint8_t>(counting(24)[i * 8 + p])));
      }
    }
  }
}

TEST(Idx, AMissingTestSetIsAllowed) {
  TemporaryFolder folder;
  write_folder(folder.path(), false);
  std::filesystem::remove(folder / "t10k-images-idx3-ubyte");
  EXPECT_THAT(error_of([&] { load_data(folder.path().string()); }), HasSubstr(folder.path().string()));
  std::filesystem::remove(folder / "t10k-labels-idx1-ubyte");
  EXPECT_TRUE(load_data(folder.path().string()).test.empty());
}

TEST(Idx, EveryTruncationIsRejected) {
  for (const bool packed : {false, true}) {
    SCOPED_TRACE(packed);
    TemporaryFolder folder;
    write_folder(folder.path(), packed);
    const auto load = [&] { load_data(folder.path().string()); };
    const std::string images = idx({3, 2, 4}, counting(24)), labels = idx({3}, kLabels),
                      suffix = packed ? ".gz" : "";
    expect_truncation_is_rejected(folder / ("train-images-idx3-ubyte" + suffix),
                                  packed ? gzipped(images) : images, load);
    expect_truncation_is_rejected(folder / ("train-labels-idx1-ubyte" + suffix),
                                  packed ? gzipped(labels) : labels, load);
  }
}

TEST(Idx, EveryFlippedByteIsReadOrRejectedButNeverCrashes) {
  for (const bool packed : {false, true}) {
    TemporaryFolder folder;
    write_folder(folder.path(), packed);
    const std::string plain = idx({3, 2, 4}, counting(24)), content = packed ? gzipped(plain) : plain;
    for (std::size_t i = 0; i < content.size(); ++i) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string damaged = content;
        damaged[i] = static_cast<char>(damaged[i] ^ change);
        write_bytes(folder / (packed ? "train-images-idx3-ubyte.gz" : "train-images-idx3-ubyte"), damaged);
        try {
          load_data(folder.path().string());
        } catch (const Error&) {
        }
      }
    }
  }
}

struct BadFile {
  std::string file, content, message;
};

TEST(Idx, BadFilesAreRejectedByName) {
  const std::vector<BadFile> cases = {
      {"train-images-idx3-ubyte", idx({3, 2, 4}, counting(25)), "goes on after"},
      {"train-images-idx3-ubyte", "\x7f" + idx({3, 2, 4}, counting(24)), "another format"},
      {"train-images-idx3-ubyte", std::string("\0\0\x0d\3", 4) + counting(24), "0x0d"},
      {"train-images-idx3-ubyte", idx({0, 2, 4}, ""), "empty"},
      {"train-images-idx3-ubyte", idx({3, 0, 4}, ""), "empty"},
      {"train-images-idx3-ubyte", idx({2, 2, 4}, counting(16)), "do not belong together"},
      {"train-images-idx3-ubyte", idx({0xffffffff, 0xffffffff, 0xffffffff}, ""), "claims more"},
      {"train-images-idx3-ubyte", idx({0xffffffff, 2, 4}, counting(24)), "claims more"},
      {"train-images-idx3-ubyte", gzipped(idx({0xffffffff, 1, 1}, counting(24))), "claims more"},
      {"train-images-idx3-ubyte", gzipped(idx({3, 2, 4}, counting(24))) + "x",
       ""},  // zlib passes over what follows
      {"train-labels-idx1-ubyte", idx({3, 1}, kLabels), "labels have one"},
      {"train-labels-idx1-ubyte", idx({3}, std::string(3, '\0')), "two or more classes"},
      {"t10k-images-idx3-ubyte", idx({2, 4, 2}, counting(16)), "must agree"},
  };
  for (const BadFile& bad : cases) {
    SCOPED_TRACE(bad.message);
    TemporaryFolder folder;
    write_folder(folder.path(), false);
    if (bad.message == "two or more classes") {
      write_bytes(folder / "t10k-labels-idx1-ubyte", idx({2}, std::string(2, '\0')));
    }
    write_bytes(folder / bad.file, bad.content);
    if (bad.message.empty()) {
      EXPECT_NO_THROW(load_data(folder.path().string()));
      continue;
    }
    const std::string named = bad.message == "two or more classes" ? folder.path().string() : bad.file;
    EXPECT_THAT(error_of([&] { load_data(folder.path().string()); }),
                AllOf(HasSubstr(named), HasSubstr(bad.message)));
  }
}

TEST(Idx, TwoDataSetsInOneFolderAreNotMixed) {
  TemporaryFolder folder;
  write_folder(folder.path(), false);
  write_bytes(folder / "emnist-train-images-idx3-ubyte", idx({3, 2, 4}, counting(24)));
  EXPECT_THAT(error_of([&] { load_data(folder.path().string()); }), HasSubstr("its own folder"));
}

}  // namespace
}  // namespace lwsvm
