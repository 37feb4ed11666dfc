#include "data/dataset.h"

#include <zlib.h>

#include <algorithm>

#include "base/error.h"

namespace lwsvm {
namespace {

// More classes than any data set we know; keeps a stray label from asking for a gigantic output layer.
constexpr std::int32_t kMaxClasses = 65536;

std::size_t checked_sample_size(const ImageShape& shape, std::size_t values, std::size_t labels) {
  const auto size = static_cast<std::size_t>(shape.size());
  LWSVM_CHECK(size > 0 && labels <= values / size && values == labels * size);
  return size;
}

std::int32_t check_labels(const char* place, const std::string& source, const char* part,
                          const Samples& samples, std::int32_t classes) {
  std::int32_t largest = -1;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int32_t label = samples.labels()[i];
    if (label < 0 || label >= classes) {
      fail(place, "{}: label {} of {} sample {} is out of range; labels must be 0..{}", source, label, part,
           i, classes - 1);
    }
    largest = std::max(largest, label);
  }
  return largest;
}

}  // namespace

std::string to_string(const ImageShape& shape) {
  return fmt::format("{}x{}x{}", shape.channels, shape.height, shape.width);
}

Samples::Samples(const ImageShape& shape, std::span<const std::uint8_t> pixels,
                 std::vector<std::int32_t> labels, std::shared_ptr<const void> owner)
    : sample_size_(checked_sample_size(shape, pixels.size(), labels.size())),
      bytes_(pixels),
      labels_(std::move(labels)),
      owner_(std::move(owner)) {}

Samples::Samples(const ImageShape& shape, std::span<const float> pixels, std::vector<std::int32_t> labels,
                 std::shared_ptr<const void> owner)
    : sample_size_(checked_sample_size(shape, pixels.size(), labels.size())),
      floats_(pixels),
      labels_(std::move(labels)),
      owner_(std::move(owner)) {}

Samples::Samples(const ImageShape& shape, std::vector<std::uint8_t> pixels, std::vector<std::int32_t> labels)
    : Samples(shape, std::make_shared<const std::vector<std::uint8_t>>(std::move(pixels)),
              std::move(labels)) {}

Samples::Samples(const ImageShape& shape, std::vector<float> pixels, std::vector<std::int32_t> labels)
    : Samples(shape, std::make_shared<const std::vector<float>>(std::move(pixels)), std::move(labels)) {}

void Samples::read(std::size_t index, float* out) const {
  LWSVM_CHECK(index < labels_.size());
  std::size_t place = index;
  if (!places_.empty()) {
    LWSVM_CHECK(places_[index] >= 0);
    place = static_cast<std::size_t>(places_[index]);
  }
  if (holds_bytes()) {
    const std::uint8_t* from = bytes_.data() + place * sample_size_;
    for (std::size_t i = 0; i < sample_size_; ++i) out[i] = static_cast<float>(from[i]);
  } else {
    std::copy_n(floats_.data() + place * sample_size_, sample_size_, out);
  }
}

// One sample at least, so that it is still known of what kind their numbers are.
Samples Samples::with_pixels_of(std::span<const std::int32_t> some) const {
  LWSVM_CHECK(places_.empty());
  Samples result;
  result.sample_size_ = sample_size_;
  result.labels_ = labels_;
  if (empty()) return result;
  result.places_.assign(labels_.size(), -1);
  std::int32_t count = 0;
  constexpr std::int32_t first = 0;
  for (const std::int32_t sample : some.empty() ? std::span(&first, 1) : some)
    if (std::int32_t& place = result.places_[static_cast<std::size_t>(sample)]; place < 0) place = count++;
  const auto copy = [&]<typename T>(std::span<const T> from, std::span<const T>& to) {
    const auto pixels = std::make_shared<std::vector<T>>(static_cast<std::size_t>(count) * sample_size_);
    for (std::size_t i = 0; i < labels_.size(); ++i)
      if (const std::int32_t place = result.places_[i]; place >= 0)
        std::copy_n(from.data() + i * sample_size_, sample_size_,
                    pixels->data() + static_cast<std::size_t>(place) * sample_size_);
    to = *pixels;
    result.owner_ = pixels;
  };
  if (holds_bytes())
    copy(bytes_, result.bytes_);
  else
    copy(floats_, result.floats_);
  return result;
}

std::uint32_t Samples::checksum(std::uint32_t before) const {
  LWSVM_CHECK(places_.empty());
  uLong crc = before;
  const auto add = [&](const auto& numbers) {
    if (!numbers.empty())
      crc = crc32_z(crc, reinterpret_cast<const Bytef*>(numbers.data()), numbers.size() * sizeof(numbers[0]));
  };
  add(bytes_);
  add(floats_);
  add(labels_);
  return static_cast<std::uint32_t>(crc);
}

std::uint32_t checksum(const DataSet& data) {
  if (data.checksum_of_all) return *data.checksum_of_all;
  return data.test.checksum(data.validation.checksum(data.train.checksum()));
}

DataSet make_data_set(const char* place, const std::filesystem::path& source, const ImageShape& shape,
                      Samples train, Samples test, int classes, Samples validation) {
  const std::string where = source.string();
  if (train.empty()) fail(place, "{}: the training set is empty; nothing can be learnt from it", where);
  const std::int32_t bound = classes > 0 ? classes : kMaxClasses;
  const std::int32_t largest = std::max({check_labels(place, where, "training", train, bound),
                                         check_labels(place, where, "validation", validation, bound),
                                         check_labels(place, where, "test", test, bound)});
  DataSet data;
  // "folder/" has an empty last part; the folder's name comes before it.
  const std::filesystem::path last = (source.has_filename() ? source : source.parent_path()).filename();
  data.name = (last.extension() == ".npz" ? last.stem() : last).string();
  data.shape = shape;
  data.classes = classes > 0 ? classes : largest + 1;
  data.train = std::move(train);
  data.test = std::move(test);
  data.validation = std::move(validation);
  if (data.classes < 2) fail(place, "{}: all labels are 0; two or more classes are needed", where);
  return data;
}

}  // namespace lwsvm
