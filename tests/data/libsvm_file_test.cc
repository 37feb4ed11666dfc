#include "data/libsvm_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"

namespace lwsvm {
namespace {

LibsvmData read(const std::string& text, const std::vector<std::int64_t>* names = nullptr) {
  std::istringstream stream(text);
  return read_libsvm(stream, "toy.txt", names);
}

std::string complaint(const std::string& text, const std::vector<std::int64_t>* names = nullptr) {
  try {
    read(text, names);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(LibsvmFile, ReadsSparseRowsAndMapsLabelsInOrder) {
  const auto data = read("+7 1:0.5 3:-2e-1\n\n# a comment\n-1 2:+4 # another\r\n3.0\n7 4:1 \n");
  EXPECT_EQ(data.class_names, (std::vector<std::int64_t>{-1, 3, 7}));
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{2, 0, 1, 2}));
  EXPECT_EQ(data.width, 4);
  EXPECT_EQ(data.row_begin, (std::vector<std::int64_t>{0, 2, 3, 3, 4}));
  EXPECT_EQ(data.dense(), (std::vector<float>{0.5f, 0, -0.2f, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(data.dense(5).size(), 20u);
  EXPECT_THROW(data.dense(3), Error);
}

TEST(LibsvmFile, ATestFileTakesTheTrainingClasses) {
  const std::vector<std::int64_t> names = {-1, 3, 7};
  EXPECT_EQ(read("3 1:1\n7 1:1\n", &names).labels, (std::vector<std::int32_t>{1, 2}));
  EXPECT_THAT(complaint("3 1:1\n4 1:1\n", &names), ::testing::HasSubstr("toy.txt:2: label 4"));
  std::istringstream wide("3 2:1\n7 1:1 3:1\n");
  try {
    read_libsvm(wide, "toy.txt", &names, 2);
    FAIL() << "index 3 of 2 was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("toy.txt:2: index 3"));
  }
}

TEST(LibsvmFile, ATestFileHasNoFeaturesWhereTheTrainingFileHasNone) {
  const LibsvmData train = read("3\n7\n");
  std::istringstream test("3 1:1\n");
  EXPECT_EQ(train.width, 0);
  EXPECT_THROW(read_libsvm(test, "toy.txt", &train.class_names, train.width), Error);
}

TEST(LibsvmFile, ErrorsNameFileAndLine) {
  EXPECT_THAT(complaint("1 1:1\nx 1:1\n"), ::testing::HasSubstr("toy.txt:2: label 'x'"));
  EXPECT_THAT(complaint("1.5 1:1\n"), ::testing::HasSubstr("toy.txt:1: label '1.5'"));
  EXPECT_THAT(complaint("1 1:1 2\n"), ::testing::HasSubstr("toy.txt:1: '2' is not index:value"));
  EXPECT_THAT(complaint("1 1:\n"), ::testing::HasSubstr("'1:' is not index:value"));
  EXPECT_THAT(complaint("1 a:1\n"), ::testing::HasSubstr("'a:1' is not index:value"));
  EXPECT_THAT(complaint("1 1:1x\n"), ::testing::HasSubstr("'1:1x' is not index:value"));
  EXPECT_THAT(complaint("1 0:1\n"), ::testing::HasSubstr("toy.txt:1: index 0"));
  EXPECT_THAT(complaint("1 9999999999:1\n"), ::testing::HasSubstr("index 9999999999"));
  EXPECT_THAT(complaint("1 2:1 2:1\n"), ::testing::HasSubstr("index 2 after 2"));
  EXPECT_THAT(complaint("1 1:nan\n"), ::testing::HasSubstr("must be finite"));
  EXPECT_THAT(complaint("1 1:1e99\n"), ::testing::HasSubstr("toy.txt:1"));
  EXPECT_THAT(complaint("\n# nothing\n"), ::testing::HasSubstr("no samples"));
  EXPECT_THROW(read_libsvm(std::filesystem::path("/nowhere/at/all")), Error);
}

}  // namespace
}  // namespace lwsvm
