#include "data/augment.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace lwsvm {
namespace {

constexpr int kMaxCrops = 100;

// Rows move as a whole, from the side they move to, so that none is overwritten before it has moved.
void shift_down(int rows, const ImageShape& shape, float* plane) {
  const int height = shape.height, width = shape.width;
  const auto row = [&](int h) { return plane + static_cast<std::ptrdiff_t>(h) * width; };
  if (rows > 0)
    for (int h = height - 1; h >= rows; --h) std::copy_n(row(h - rows), width, row(h));
  else
    for (int h = 0; h < height + rows; ++h) std::copy_n(row(h - rows), width, row(h));
  const int first = rows > 0 ? 0 : height + rows;
  std::fill_n(row(first), static_cast<std::ptrdiff_t>(std::abs(rows)) * width, 0.0f);
}

void shift_right(int columns, int width, float* row) {
  const auto kept = static_cast<std::size_t>(width - std::abs(columns)) * sizeof(float);
  if (columns > 0) {
    std::memmove(row + columns, row, kept);
    std::fill_n(row, columns, 0.0f);
  } else {
    std::memmove(row, row - columns, kept);
    std::fill_n(row + width + columns, -columns, 0.0f);
  }
}

// K of "cropK".
std::optional<int> number_after(std::string_view name, const std::string& word) {
  const std::string digits = word.starts_with(name) ? word.substr(name.size()) : "";
  const bool number = !digits.empty() && digits.size() < 5 &&
                      std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return number ? std::optional(std::stoi(digits)) : std::nullopt;
}

}  // namespace

int crops_in(const std::string& text) {
  int crops = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    crops = std::max(crops, number_after("crop", text.substr(begin, end - begin)).value_or(0));
    begin = end + 1;
  }
  return std::min(crops, kMaxCrops);
}

std::vector<ImageTransform> parse_augmentation(const std::string& text, const DataSet& data) {
  std::vector<ImageTransform> transforms = parse_augmentation(text, data.shape);
  for (const ImageTransform& transform : transforms)
    if (transform.crop > std::ssize(data.train_crops))
      fail("augment", "random crops are cut out of photos, and {} has {}; leave out crop, or give photos",
           data.name, data.photos.empty() ? "none" : "been read without them");
  return transforms;
}

std::vector<ImageTransform> parse_augmentation(const std::string& text, const ImageShape& shape) {
  std::vector<ImageTransform> transforms{{}};
  if (text == "none") return transforms;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word == "flip") {
      transforms.push_back({true, 0, 0});
      continue;
    }
    if (const std::optional<int> crops = number_after("crop", word)) {
      if (*crops < 1 || *crops > kMaxCrops)
        fail("augment", "'{}': give 1 to {} random crops of each photo", word, kMaxCrops);
      if (std::ranges::any_of(transforms, [](const ImageTransform& t) { return t.crop > 0; }))
        fail("augment", "random crops are asked for twice in '{}'; once is enough, as in flip,crop4", text);
      for (int crop = 1; crop <= *crops; ++crop) transforms.push_back({false, 0, 0, crop});
      continue;
    }
    const std::optional<int> shift = number_after("shift", word);
    if (!shift)
      fail("augment", "'{}' is not known; there are flip, shiftK and, of photos, cropK, as in flip,crop4",
           word);
    const int pixels = *shift;
    if (pixels < 1 || pixels >= std::min(shape.height, shape.width))
      fail("augment", "'{}' moves images of {} by {} pixels; give 1 to {}", word, to_string(shape), pixels,
           std::min(shape.height, shape.width) - 1);
    transforms.push_back({false, 0, -pixels});
    transforms.push_back({false, 0, pixels});
    transforms.push_back({false, -pixels, 0});
    transforms.push_back({false, pixels, 0});
  }
  return transforms;
}

void apply(const ImageTransform& transform, const ImageShape& shape, float* image) {
  for (int c = 0; c < shape.channels; ++c) {
    float* plane = image + static_cast<std::ptrdiff_t>(c) * shape.height * shape.width;
    if (transform.down != 0) shift_down(transform.down, shape, plane);
    for (int h = 0; h < shape.height; ++h) {
      float* row = plane + static_cast<std::ptrdiff_t>(h) * shape.width;
      if (transform.flip) std::reverse(row, row + shape.width);
      if (transform.right != 0) shift_right(transform.right, shape.width, row);
    }
  }
}

void AugmentedSource::read(std::int64_t index, float* target) const {
  const ImageTransform& transform = transforms_[static_cast<std::size_t>(index / original_.size())];
  const SampleSource& source =
      transform.crop > 0 ? *crops_[static_cast<std::size_t>(transform.crop - 1)] : original_;
  source.read(index % original_.size(), target);
  apply(transform, shape_, target);
}

}  // namespace lwsvm
