// Pixels against Pillow and torchvision, which photo_judge.py asks.
#include <cstdlib>
#include <map>

#include "base/atomic_file.h"
#include "base/process.h"
#include "data/files.h"
#include "data/photo.h"
#include "data/photo_decoders.h"
#include "judge.h"

namespace lwsvm {
namespace {

using namespace lwsvm::test;
namespace fs = std::filesystem;

struct Difference {
  int largest = 0;
  double mean = 0;
};

Difference difference(const std::vector<std::uint8_t>& ours, const std::string& theirs) {
  Difference found;
  EXPECT_EQ(ours.size(), theirs.size());
  if (ours.size() != theirs.size() || ours.empty()) return {255, 255};
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const int apart = std::abs(ours[i] - static_cast<std::uint8_t>(theirs[i]));
    found.largest = std::max(found.largest, apart);
    found.mean += apart;
  }
  found.mean /= static_cast<double>(ours.size());
  return found;
}

struct PixelCase {
  std::string file, kind;
  PhotoGeometry geometry;  // short side -1: only decoded
  std::string expected;
};

std::vector<std::uint8_t> in_planes(const Photo& photo) {
  std::vector<std::uint8_t> planes;
  for (int c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < photo.pixels.size(); i += static_cast<std::size_t>(photo.channels))
      planes.push_back(photo.pixels[i + static_cast<std::size_t>(photo.channels == 3 ? c : 0)]);
  return planes;
}

Difference compared(const PixelCase& one) {
  if (one.geometry.short_side >= 0)
    return difference(photo_sample(fs::path(one.file), one.geometry), one.expected);
  const Photo photo = decode_photo(one.file, read_photo_file(one.file));
  EXPECT_EQ(photo.width, one.geometry.width);
  EXPECT_EQ(photo.height, one.geometry.height);
  return difference(in_planes(photo), one.expected);
}

bool is_reduced(const PixelCase& one) {
  if (one.geometry.short_side < 0 || !one.file.ends_with(".jpg")) return false;
  const Photo photo = decode_photo(one.file, read_photo_file(one.file));
  return jpeg_reduction(photo.width, photo.height, 1, one.geometry) > 1;
}

class PhotoPixels : public ::testing::Test {
 protected:
  // False, with the reason in `why_not_`, where there is no Pillow.
  bool ask(const std::vector<std::string>& photos = {}) {
    std::vector<std::string> command{"/usr/bin/python3", LWSVM_SOURCE_DIR "/tests/data/photo_judge.py",
                                     folder_.path().string()};
    command.insert(command.end(), photos.begin(), photos.end());
    if (run_process({"/usr/bin/python3", "-c", "import numpy, PIL"}, folder_.path()).status != 0)
      return false;
    const ProcessResult judged = run_process(command, folder_.path());
    EXPECT_EQ(judged.status, 0) << judged.output;
    std::ifstream list(folder_ / "cases.txt");
    PixelCase one;
    for (std::string expected; list >> one.file >> expected >> one.geometry.channels >> one.geometry.height >>
                               one.geometry.width >> one.geometry.short_side;) {
      std::getline(list >> std::ws, one.kind);
      one.expected = read_file(expected);
      cases_.push_back(one);
    }
    return true;
  }

  TemporaryFolder folder_;
  std::vector<PixelCase> cases_;
};

TEST_F(PhotoPixels, AreThoseOfPillowAndTorchvision) {
  if (!ask()) LWSVM_NO_JUDGE() << "Python's Pillow and numpy are not installed";
  std::map<std::string, int> seen;
  int to_the_bit = 0;
  for (const PixelCase& one : cases_) {
    SCOPED_TRACE(fmt::format("{} to {} {}", one.file, to_text(one.geometry), one.geometry.channels));
    const Difference found = compared(one);
    ++seen[one.kind];
    to_the_bit += found.largest == 0;
    if (is_reduced(one)) {
      ++seen["reduced"];
      EXPECT_LE(found.mean, 1.0);
      EXPECT_LE(found.largest, 12);
    } else if (one.geometry.short_side < 0) {
      EXPECT_EQ(found.largest, 0);
    } else {
      EXPECT_LE(found.largest, 1);
      EXPECT_LE(found.mean, 0.01);
    }
  }
  RecordProperty("cases", static_cast<int>(cases_.size()));
  RecordProperty("to_the_bit", to_the_bit);
  for (const char* kind :
       {"png", "jpeg", "webp", "alpha", "palette", "grey", "16 bit", "exif", "large", "reduced"})
    EXPECT_GT(seen[kind], 0) << kind;
}

TEST_F(PhotoPixels, OfTheSharedPhotosAreThoseOfPillow) {
  const fs::path shared = LWSVM_SOURCE_DIR "/../shared/photos";
  std::vector<std::string> photos;
  if (fs::is_directory(shared))
    for (const auto& entry : fs::recursive_directory_iterator(shared))
      if (entry.path().extension() == ".jpg") photos.push_back(fs::canonical(entry.path()).string());
  if (photos.empty()) GTEST_SKIP() << "there are no photos in " << shared;
  std::ranges::sort(photos);
  constexpr std::size_t kSome = 120;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < photos.size(); i += photos.size() / kSome + 1) some.push_back(photos[i]);
  if (!ask(some)) LWSVM_NO_JUDGE() << "Python's Pillow and numpy are not installed";
  EXPECT_EQ(cases_.size(), some.size());
  int to_the_bit = 0;
  for (const PixelCase& one : cases_) {
    SCOPED_TRACE(one.file);
    const int largest = compared(one).largest;
    EXPECT_LE(largest, 1);
    to_the_bit += largest == 0;
  }
  RecordProperty("to_the_bit", to_the_bit);
}

TEST(PhotoGeometry, FollowsTheNetworkUnlessTold) {
  const auto geometry = [](int resize, int height, int width, std::optional<ImageShape> network) {
    PhotoSettings settings;
    settings.short_side = resize;
    settings.crop_height = height;
    settings.crop_width = width;
    return photo_geometry(settings, network);
  };
  EXPECT_EQ(geometry(0, 0, 0, {}), (PhotoGeometry{3, 224, 224, 256}));
  EXPECT_EQ(geometry(0, 0, 0, ImageShape{1, 28, 28}), (PhotoGeometry{1, 28, 28, 32}));
  EXPECT_EQ(geometry(0, 0, 0, ImageShape{3, 192, 256}), (PhotoGeometry{3, 192, 256, 293}));
  EXPECT_EQ(geometry(342, 0, 0, ImageShape{3, 299, 299}), (PhotoGeometry{3, 299, 299, 342}));
  EXPECT_EQ(geometry(64, 0, 0, {}), (PhotoGeometry{3, 56, 56, 64}));
  EXPECT_EQ(geometry(0, 112, 112, {}), (PhotoGeometry{3, 112, 112, 128}));
  PhotoSettings stretched;
  stretched.stretch = true;
  EXPECT_EQ(photo_geometry(stretched, ImageShape{3, 32, 48}), (PhotoGeometry{3, 32, 48, 0}));
  EXPECT_THAT(error_of([&] { geometry(100, 224, 224, {}); }), ::testing::HasSubstr("--resize 100"));
  EXPECT_THAT(error_of([&] {
                geometry(0, 0, 0, ImageShape{4, 32, 32});
              }),
              ::testing::HasSubstr("4 channels"));
}

TEST(PhotoGeometry, ComesBackFromItsText) {
  for (const PhotoGeometry& one : {PhotoGeometry{3, 224, 224, 256}, {3, 192, 256, 300}, {3, 32, 48, 0}})
    EXPECT_EQ(parse_photo_geometry(to_text(one)), one);
  for (const char* text : {"", "resize=256", "resize=256 crop=224x224x", "stretch=9", "crop=1x1 resize=2"})
    EXPECT_FALSE(parse_photo_geometry(text)) << text;
}

TEST(JpegReduction, GoesAsFarAsTheReserveLets) {
  const PhotoGeometry usual;
  for (int side = 100; side < 6000; side += 37)
    for (const int other : {side, side + 500})
      for (const int orientation : {1, 6}) {
        const int reduction = jpeg_reduction(side, other, orientation, usual);
        EXPECT_TRUE(reduction == 1 || side >= kJpegReserve * 256 * reduction) << side << " " << reduction;
        EXPECT_TRUE(reduction == 8 || side < kJpegReserve * 256 * 2 * reduction) << side << " " << reduction;
      }
}

}  // namespace
}  // namespace lwsvm
