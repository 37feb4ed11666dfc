#include "data/cifar.h"

#include <png.h>

#include <cstring>

#include "data/cifar_png.h"
#include "data/files.h"
#include "data/made_files.h"

namespace lwsvm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace lwsvm::test;

void expect_samples(const Samples& samples, std::size_t first, const std::vector<std::int32_t>& labels) {
  ASSERT_EQ(samples.labels(), labels);
  std::vector<float> image(kCifarPixels);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    samples.read(i, image.data());
    for (std::size_t p = 0; p < kCifarPixels; ++p) {
      ASSERT_EQ(image[p], static_cast<float>(static_cast<std::uint8_t>(cifar_pixel(first + i, p))));
    }
  }
}

TEST(Cifar, TenAndHundredGiveBackWhatWasWritten) {
  TemporaryFolder ten, hundred;
  write_bytes(ten / "data_batch_1.bin", cifar_records(0, {3, 9}, false));
  write_bytes(ten / "data_batch_2.bin", cifar_records(2, {0}, false));
  write_bytes(ten / "test_batch.bin", cifar_records(3, {1, 1}, false));
  const DataSet a = load_data(ten.path().string());
  EXPECT_EQ(a.shape, (ImageShape{3, 32, 32}));
  EXPECT_EQ(a.classes, 10);
  EXPECT_EQ(a.class_names.size(), 10u);
  expect_samples(a.train, 0, {3, 9, 0});
  expect_samples(a.test, 3, {1, 1});

  // Also from the folder around the one that the authors' archive unpacks to.
  write_bytes(hundred / "cifar-100-binary/train.bin", cifar_records(0, {99, 0}, true));
  write_bytes(hundred / "cifar-100-binary/test.bin", cifar_records(2, {50}, true));
  const DataSet b = load_data(hundred.path().string());
  EXPECT_EQ(b.classes, 100);
  EXPECT_EQ(b.class_names.size(), 100u);
  expect_samples(b.train, 0, {99, 0});
  expect_samples(b.test, 2, {50});
}

TEST(Cifar, EveryTruncationIsRejected) {
  TemporaryFolder folder;
  const auto load = [&] { load_data(folder.path().string()); };
  expect_truncation_is_rejected(folder / "data_batch_1.bin", cifar_records(0, {1}, false), load);
}

TEST(Cifar, BadLabelsAndSizesAreRejectedByName) {
  TemporaryFolder ten, hundred;
  write_bytes(ten / "data_batch_1.bin", cifar_records(0, {3, 10}, false));
  EXPECT_THAT(error_of([&] { load_data(ten.path().string()); }),
              AllOf(HasSubstr("data_batch_1.bin"), HasSubstr("label 10"), HasSubstr("out of range")));
  write_bytes(ten / "data_batch_1.bin", cifar_records(0, {3}, false) + "x");
  EXPECT_THAT(error_of([&] { load_data(ten.path().string()); }), HasSubstr("data_batch_1.bin"));
  write_bytes(hundred / "train.bin", cifar_records(0, {100}, true));
  EXPECT_THAT(error_of([&] { load_data(hundred.path().string()); }),
              AllOf(HasSubstr("train.bin"), HasSubstr("label 100")));
}

void write_png(const std::filesystem::path& path, unsigned width, unsigned height, unsigned format,
               const std::string& pixels) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = format;
  ASSERT_TRUE(png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr)) << image.message;
}

class CifarPng : public ::testing::TestWithParam<int> {};

TEST_P(CifarPng, PlanesAreThoseOfThePicture) {
  const int side = GetParam();
  const auto plane = static_cast<std::size_t>(side * side);
  const std::vector<std::uint8_t> labels{4, 0, 9};
  std::string pixels;
  for (std::size_t i = 0; i < 3 * 3 * plane; ++i) pixels += static_cast<char>(i * 37 + i / 100);
  TemporaryFolder folder;
  write_png(folder / "batch.png", static_cast<unsigned>(plane), 3, PNG_FORMAT_RGB, pixels);
  convert_cifar_png(folder / "batch.png", labels, folder / "batch.bin", side);
  std::ifstream file(folder / "batch.bin", std::ios::binary);
  const std::string bin{std::istreambuf_iterator<char>(file), {}};
  ASSERT_EQ(bin.size(), 3 * (1 + 3 * plane));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(static_cast<std::uint8_t>(bin[i * (1 + 3 * plane)]), labels[i]);
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t p = 0; p < plane; ++p) {
        ASSERT_EQ(bin[i * (1 + 3 * plane) + 1 + c * plane + p], pixels[(i * plane + p) * 3 + c]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sides, CifarPng, ::testing::Values(1, 2, 5, 32));

TEST(CifarPng, OtherPicturesAreRejected) {
  TemporaryFolder folder;
  const std::vector<std::uint8_t> labels{1, 2};
  const auto convert = [&] { convert_cifar_png(folder / "a.png", labels, folder / "a.bin", 2); };
  write_png(folder / "a.png", 5, 2, PNG_FORMAT_RGB, std::string(30, 'x'));
  EXPECT_THAT(error_of(convert), AllOf(HasSubstr("a.png"), HasSubstr("5 x 2")));
  write_png(folder / "a.png", 4, 2, PNG_FORMAT_RGBA, std::string(32, 'x'));
  EXPECT_THAT(error_of(convert), AllOf(HasSubstr("a.png"), HasSubstr("8-bit RGB")));
  write_png(folder / "a.png", 4, 2, PNG_FORMAT_RGB, "abcdefghijklmnopqrstuvwx");
  std::ifstream file(folder / "a.png", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  // libpng does not look at what follows the pixels, so a cut within the end chunk may pass; none may crash.
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_bytes(folder / "a.png", whole.substr(0, length));
    try {
      convert();
      EXPECT_GT(length, whole.size() - 32);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("a.png"));
    }
  }
}

TEST(CifarPng, BadLabelListsAreRejected) {
  TemporaryFolder folder;
  for (const char* text :
       {"", "[", "[1,2", "[1]", "[1,2,3]", "[1,10]", "[1,-1]", "[1,1.5]", "[1,\"2\"]", "{}", "7"}) {
    SCOPED_TRACE(text);
    write_bytes(folder / "labels.json", text);
    EXPECT_THAT(error_of([&] { read_json_labels(folder / "labels.json", 2); }), HasSubstr("labels.json"));
  }
  write_bytes(folder / "labels.json", "[1, 9]");
  EXPECT_EQ(read_json_labels(folder / "labels.json", 2), (std::vector<std::uint8_t>{1, 9}));
}

}  // namespace
}  // namespace lwsvm
