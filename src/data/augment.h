// Virtual samples: transformed copies that join a data set without being stored.
//
//   flip      one copy, mirrored left to right
//   cropK     of photos: K copies, random parts of them in the size of the crop (data/photo.h), half of them
//             mirrored; cut out of the photo itself, not of the sample
//   shiftK    four copies, moved by K pixels left, right, up and down; what comes in from outside is 0
//
// Every (image, transform) is a sample of its own, the same every time it is read: number t * N + i is
// transform t of image i, and transform 0 is the image as it is. So everything that holds for samples (dual
// blocks, certificate, resuming) holds for these, and the objective is the mean over the enlarged set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/sample_source.h"
#include "data/dataset.h"

namespace lwsvm {

struct ImageTransform {
  bool flip = false;
  int down = 0, right = 0;  // pixels
  int crop = 0;             // then this random crop, DataSet::train_crops[crop - 1], instead of the image
};

// "flip,shift2" -> the transforms, identity first; "" or "none" -> identity alone. Throws Error naming the
// bad word.
std::vector<ImageTransform> parse_augmentation(const std::string& text, const ImageShape& shape);

int crops_in(const std::string& text);  // how many random crops it asks for
// The same, for data that must have the crops that it asks for.
std::vector<ImageTransform> parse_augmentation(const std::string& text, const DataSet& data);

// In place, on one CHW image, of which it is the right crop.
void apply(const ImageTransform& transform, const ImageShape& shape, float* image);

class AugmentedSource final : public SampleSource {
 public:
  // The original and its crops must outlive this.
  AugmentedSource(const SampleSource& original, const ImageShape& shape,
                  std::vector<ImageTransform> transforms, std::vector<const SampleSource*> crops = {})
      : original_(original), shape_(shape), transforms_(std::move(transforms)), crops_(std::move(crops)) {}

  std::int64_t size() const override {
    return original_.size() * static_cast<std::int64_t>(transforms_.size());
  }
  std::int64_t copies() const override { return std::ssize(transforms_); }
  std::int32_t label(std::int64_t index) const override { return original_.label(index % original_.size()); }
  void read(std::int64_t index, float* target) const override;

 private:
  const SampleSource& original_;
  ImageShape shape_;
  std::vector<ImageTransform> transforms_;
  std::vector<const SampleSource*> crops_;
};

}  // namespace lwsvm
