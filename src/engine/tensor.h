// What a block of numbers means: the shape of one sample, and in which order its elements lie in memory.
//
// A batch of n samples is n * size(shape) contiguous floats, without padding. Shapes leave the batch out: an
// image is {channels, height, width}, a feature vector {features}.
//
// Two layouts are enough for oneDNN: on AVX2 its channels-last kernels are as fast as its blocked ones, and
// on AVX-512 they are up to 1.5 times faster (docs/performance.md), with no padded channels for element-wise
// code to respect.
//
// The third one is for images of few channels, where oneDNN's kernels leave most lanes of a register idle:
// samples lie side by side in groups, element k of all samples of a group in one register (lane_kernels.h). A
// group that is not full is filled up: what is made from other layouts has zeros there, and nobody reads what
// becomes of them. To code that treats all elements alike it is one more array; to code for channels-last
// images, a group is `channels` images with a channel for each sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

namespace lwsvm {

using Shape = std::vector<std::int64_t>;

inline std::int64_t element_count(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_string(const Shape& shape);  // "12x28x28"

enum class Layout {
  channels_first,  // row-major in the order of the shape; the canonical one, and that of files
  channels_last,   // images only: [height][width][channels]
  interleaved,     // images only: [group of samples][channels][height][width][sample of the group]
};

struct TensorSpec {
  Shape shape;
  Layout layout = Layout::channels_first;
  int lanes = 1;  // samples in a group; interleaved only

  std::int64_t size() const { return element_count(shape); }
  // With those that fill up the last group.
  std::int64_t places(std::int64_t samples) const { return (samples + lanes - 1) / lanes * lanes; }
  std::int64_t floats(std::int64_t samples) const { return places(samples) * size(); }
  bool operator==(const TensorSpec&) const = default;
};

// Channels first and last coincide where there is one channel or one pixel, or no image at all.
bool same_order(const TensorSpec& a, const TensorSpec& b);

// For batches of so many samples: as many as a register has lanes, no more than it takes.
int interleaved_lanes(int samples);

// Copies samples from one layout to the other (both of the same shape).
void relayout(const TensorSpec& from, const float* source, const TensorSpec& to, float* target, int samples);

// Uninitialised memory aligned for the widest vectors. Grows, never shrinks; contents are lost on growth.
template <typename T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(std::size_t size) { resize(size); }

  void resize(std::size_t size) {
    if (size > capacity_) {
      const std::size_t bytes = (size * sizeof(T) + 63) / 64 * 64;
      data_.reset(static_cast<T*>(std::aligned_alloc(64, bytes)));
      if (!data_) throw std::bad_alloc();
      capacity_ = size;
    }
    size_ = size;
  }

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }

 private:
  struct Free {
    void operator()(T* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace lwsvm
