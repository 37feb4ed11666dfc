// Images with labels, as they were stored, and the way to them by name or path.
//
//   DataSet data = load_data("fashion-mnist");            // or mnist, cifar10, cifar100, synthetic[:options]
//   DataSet mine = load_data("some/folder/or/file.npz");  // IDX folder, CIFAR binary folder, npz file,
//                                                         // folder of photos, CSV file of photos
//
// Pixels are kept in the type of the file (bytes or floats) and turned into floats when they are read;
// normalisation (normalization.h) and the split into training and validation part (split.h) are the caller's
// next steps.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/messages.h"
#include "lwsvm/data.h"

namespace lwsvm {

std::string to_string(const ImageShape& shape);  // "1x28x28": channels, height, width

class Samples {
 public:
  Samples() = default;
  // Pixels one sample after the other, each CHW; there are as many samples as labels.
  Samples(const ImageShape& shape, std::vector<std::uint8_t> pixels, std::vector<std::int32_t> labels);
  Samples(const ImageShape& shape, std::vector<float> pixels, std::vector<std::int32_t> labels);
  // The same where the pixels lie, for as long as `owner` lives.
  Samples(const ImageShape& shape, std::span<const std::uint8_t> pixels, std::vector<std::int32_t> labels,
          std::shared_ptr<const void> owner);
  Samples(const ImageShape& shape, std::span<const float> pixels, std::vector<std::int32_t> labels,
          std::shared_ptr<const void> owner);

  std::size_t size() const { return labels_.size(); }
  bool empty() const { return labels_.empty(); }
  const std::vector<std::int32_t>& labels() const { return labels_; }
  std::size_t sample_size() const { return sample_size_; }  // numbers in one sample
  bool holds_bytes() const { return floats_.empty(); }      // values are whole numbers 0..255

  // One sample as CHW floats, with the values as stored: 0..255 for bytes. Does not allocate; safe from many
  // threads.
  void read(std::size_t index, float* out) const;

  std::uint32_t checksum(std::uint32_t before = 0) const;  // CRC-32 of pixels and labels, after others

  // The same samples and labels, with a copy of the pixels of some: the others cannot be read.
  Samples with_pixels_of(std::span<const std::int32_t> some) const;

 private:
  template <typename T>
  Samples(const ImageShape& shape, std::shared_ptr<const std::vector<T>> pixels,
          std::vector<std::int32_t> labels)
      : Samples(shape, std::span<const T>(*pixels), std::move(labels), pixels) {}

  std::size_t sample_size_ = 0;
  std::span<const std::uint8_t> bytes_;  // one of the two is empty
  std::span<const float> floats_;
  std::vector<std::int32_t> labels_;
  std::vector<std::int32_t> places_;   // where a sample's pixels lie, -1: not here; empty: in order
  std::shared_ptr<const void> owner_;  // of the pixels; copies share them
};

struct DataSet {
  std::string name;  // "mnist", "synthetic", ... or the last part of the path
  ImageShape shape;
  int classes = 0;
  Samples train, test;                   // test may be empty
  Samples validation;                    // where the data come with some; else they are split from train
  std::vector<std::string> class_names;  // may be empty
  std::vector<Samples> train_crops;      // of photos, where wanted: other parts of the training ones
  std::string photos;                    // of photos: how they were resized and cut, as photo.h writes it
  std::optional<std::uint32_t> checksum_of_all;  // where not all pixels are here any more
};

// Of all samples and labels: data that were replaced have another.
std::uint32_t checksum(const DataSet& data);

// What else there is to say about loading.
struct LoadOptions {
  std::filesystem::path data_dir;
  PhotoSettings photos;
  std::optional<ImageShape> network;     // what the network takes, if it is known: photos are cut to that
  std::vector<std::string> class_names;  // of the network: photos of these classes are numbered as there
  int crops = 0;                         // random ones of each training photo (data/augment.h)
  int threads = 0;                       // that decode photos; 0: all cores
  Messages* messages = &silent_messages();
};

// A known name, `synthetic[:options]`, or a path whose kind is recognised. A known name is looked for in
// data_dir, the cache folder and, for fashion-mnist, in its Debian package. Throws Error.
DataSet load_data(const std::string& name_or_path, const std::filesystem::path& data_dir = {});
DataSet load_data(const std::string& name_or_path, const LoadOptions& options);

// For the readers of the single formats: puts the parts together and checks what every data set must satisfy:
// a training set that is not empty, labels in 0..classes-1, two classes or more. classes 0: the largest label
// plus one.
DataSet make_data_set(const char* place, const std::filesystem::path& source, const ImageShape& shape,
                      Samples train, Samples test, int classes = 0, Samples validation = {});

}  // namespace lwsvm
