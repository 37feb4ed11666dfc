// From stored pixel values to the network's input.
//
//   x -> (x - mean) / std,   mean and std each one value, one per channel, or one per pixel
//
// Defaults, as in the paper: data like MNIST and other bytes: mean 0, std 256; data like CIFAR: mean
// and standard deviation of each pixel over the training part; floats: of each channel.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace lwsvm {

struct Normalization {
  std::vector<float> mean{0.0f},
      std{1.0f};          // each: 1 value (all), C values (per channel), or C*H*W (per pixel)
  bool reversed = false;  // then the channels, RGB to BGR, by whoever feeds the network

  void validate(const ImageShape& shape) const;              // throws Error
  void apply(const ImageShape& shape, float* sample) const;  // one CHW sample in place
};

// --scale, --mean, --std, --per-pixel. Pixels are divided by scale first, so that the numbers printed for
// other tools' models can be given as they are (--scale 255 --mean 0.4914,0.4822,0.4465 --std
// 0.2470,0.2435,0.2616):
//
//   x -> (x / scale - mean) / std
struct NormalizationOptions {
  std::optional<double> scale;
  std::vector<double> mean, std;  // empty: not given; else 1, C or C*H*W values
  bool per_pixel = false;         // mean and std of each pixel over the training part; excludes the others
  bool reversed = false;          // then BGR for RGB

  bool given() const { return scale || !mean.empty() || !std.empty() || per_pixel; }
  void validate() const;
};

// What networks were commonly trained on. With `white` the value of a white pixel as stored:
//
//   x -> (x white_becomes / white - mean) / std
struct KnownNormalization {
  std::string name;
  double white_becomes = 1;  // before mean and std: 1 or 255
  std::vector<double> mean, std;
  int channels = 0;         // of the images that it is for; 0: any
  bool reversed = false;    // then BGR for RGB
  bool for_photos = false;  // of networks for photos: images of 64 pixels and more

  NormalizationOptions options(double white = 255) const;
};
// 0-255, 0-1, -1..1; mnist, fashion-mnist for grey images; imagenet, cifar for coloured ones; caffe (as in
// Keras: BGR, the mean colour taken away, 255 stays 255) and the same without BGR, caffe-rgb, for photos.
std::span<const KnownNormalization> known_normalizations();
bool fits(const KnownNormalization& known, const ImageShape& shape);
// By its name. Throws Error if there is none such.
NormalizationOptions named_normalization(const std::string& name, double white = 255);

// The value of a white pixel as stored: 255, or 1 where floats all lie in 0..1. Nothing where they are no
// pixel values: below 0, or above 255.
std::optional<double> white_of(const DataSet& data);

Normalization default_normalization(const DataSet& data, std::span<const std::int32_t> train_part);
// The default unless an option is given.
Normalization make_normalization(const DataSet& data, std::span<const std::int32_t> train_part,
                                 const NormalizationOptions& options);

// Statistics over the given training samples, accumulated in double. Where all of them agree (the corners of
// MNIST) the standard deviation is taken as 1, so that such a pixel becomes 0 instead of 0/0.
Normalization pixel_statistics(const DataSet& data, std::span<const std::int32_t> part);
Normalization channel_statistics(const DataSet& data, std::span<const std::int32_t> part);

// "0.49,0.48,0.45" for --mean and --std. Throws Error naming the option.
std::vector<double> parse_numbers(const std::string& option, const std::string& text);

}  // namespace lwsvm
