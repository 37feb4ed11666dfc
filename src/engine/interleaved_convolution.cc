#include "engine/interleaved_convolution.h"

#include <algorithm>

#include "engine/lane_kernels.h"

namespace lwsvm {

// Makes room for pixels first_row..last_row, first_column..last_column.
void InterleavedConvolution::Frame::reach(std::int64_t first_row, std::int64_t last_row,
                                          std::int64_t first_column, std::int64_t last_column) {
  const std::int64_t bottom = std::max(framed_height - top, last_row + 1);
  const std::int64_t right = std::max(framed_width - left, last_column + 1);
  top = std::max(top, -first_row);
  left = std::max(left, -first_column);
  framed_height = top + bottom;
  framed_width = left + right;
}

InterleavedConvolution::InterleavedConvolution(const ConvolutionGeometry& geometry, int samples, int lanes,
                                               ConvolutionUse use)
    : g_(geometry), samples_(samples), lanes_(lanes), use_(use), kernels_(lane_kernels(lanes)) {
  input_.height = input_.framed_height = g_.in_height;
  input_.width = input_.framed_width = g_.in_width;
  output_.height = output_.framed_height = g_.out_height;
  output_.width = output_.framed_width = g_.out_width;
  plan_forward();
  if (use.input_gradient) plan_backward();
  const auto framed_floats = [&](const Frame& frame, std::int64_t channels) {
    return frame.trivial() ? 0 : static_cast<std::size_t>(channels * frame.pixels() * lanes_);
  };
  scratch_ = std::max(framed_floats(input_, g_.in_channels), framed_floats(output_, g_.out_channels));
}

void InterleavedConvolution::plan_forward() {
  input_.reach(
      -g_.pad_top,
      (g_.out_height - 1) * g_.stride_height + (g_.kernel_height - 1) * g_.dilation_height - g_.pad_top,
      -g_.pad_left,
      (g_.out_width - 1) * g_.stride_width + (g_.kernel_width - 1) * g_.dilation_width - g_.pad_left);
  const std::int64_t channels = g_.in_channels / g_.groups;
  forward_.rows = g_.out_height;
  forward_.columns = g_.out_width;
  forward_.weight_step = channels * g_.kernel_height * g_.kernel_width;
  for (std::int64_t c = 0, weight = 0; c < channels; ++c)
    for (std::int64_t kh = 0; kh < g_.kernel_height; ++kh)
      for (std::int64_t kw = 0; kw < g_.kernel_width; ++kw, ++weight) {
        const std::int64_t row = kh * g_.dilation_height - g_.pad_top;
        const std::int64_t column = kw * g_.dilation_width - g_.pad_left;
        forward_.offsets.push_back((c * input_.pixels() + input_.at(row, column)) * lanes_);
        forward_.weights.push_back(weight);
      }
}

namespace {

// The taps of a window along one axis that reach pixels first, first + stride, ... of the input, and from
// which output pixel, for the first of them; for each further one it is the next.
struct Reach {
  std::int64_t tap, from;
};

std::vector<Reach> reaches(std::int64_t first, std::int64_t stride, std::int64_t pad, std::int64_t taps,
                           std::int64_t dilation) {
  std::vector<Reach> found;
  for (std::int64_t tap = 0; tap < taps; ++tap)
    if (const std::int64_t at = first + pad - tap * dilation; at % stride == 0)
      found.push_back({tap, at / stride});
  return found;
}

std::int64_t count_from(std::int64_t first, std::int64_t stride, std::int64_t size) {
  return first < size ? (size - 1 - first) / stride + 1 : 0;
}

}  // namespace

void InterleavedConvolution::plan_backward() {
  struct Axes {
    std::vector<Reach> rows, columns;
  };
  std::vector<Axes> axes;
  for (std::int64_t row = 0; row < g_.stride_height; ++row)
    for (std::int64_t column = 0; column < g_.stride_width; ++column) {
      Pass pass;
      pass.first_row = row;
      pass.first_column = column;
      pass.rows = count_from(row, g_.stride_height, g_.in_height);
      pass.columns = count_from(column, g_.stride_width, g_.in_width);
      if (pass.rows == 0 || pass.columns == 0) continue;
      pass.weight_step = g_.kernel_height * g_.kernel_width;
      axes.push_back({reaches(row, g_.stride_height, g_.pad_top, g_.kernel_height, g_.dilation_height),
                      reaches(column, g_.stride_width, g_.pad_left, g_.kernel_width, g_.dilation_width)});
      for (const Reach& h : axes.back().rows)
        for (const Reach& w : axes.back().columns)
          output_.reach(h.from, h.from + pass.rows - 1, w.from, w.from + pass.columns - 1);
      backward_.push_back(std::move(pass));
    }
  // The frame is known: now where the terms lie in it.
  const std::int64_t in = g_.in_channels / g_.groups, out = g_.out_channels / g_.groups;
  for (std::size_t i = 0; i < backward_.size(); ++i)
    for (std::int64_t o = 0; o < out; ++o)
      for (const Reach& h : axes[i].rows)
        for (const Reach& w : axes[i].columns) {
          backward_[i].offsets.push_back((o * output_.pixels() + output_.at(h.from, w.from)) * lanes_);
          backward_[i].weights.push_back((o * in * g_.kernel_height + h.tap) * g_.kernel_width + w.tap);
        }
}

void InterleavedConvolution::pack(const float* weights) {
  pack(forward_, g_.out_channels / g_.groups, weights);
  for (Pass& pass : backward_) pack(pass, g_.in_channels / g_.groups, weights);
}

// [group][block of channels][term][channel], as window_sums reads them.
void InterleavedConvolution::pack(Pass& pass, std::int64_t channels, const float* weights) const {
  pass.packed.resize(static_cast<std::size_t>(g_.groups * channels) * pass.weights.size());
  float* to = pass.packed.data();
  const std::int64_t blocks = channel_blocks(channels);
  for (std::int64_t group = 0; group < g_.groups; ++group, weights += g_.weight_count() / g_.groups)
    for (std::int64_t block = 0; block < blocks; ++block)
      for (std::int64_t first : pass.weights)
        for (std::int64_t c = channels * block / blocks; c < channels * (block + 1) / blocks; ++c)
          *to++ = weights[first + c * pass.weight_step];
}

const float* InterleavedConvolution::framed(const Frame& frame, std::int64_t channels, const float* images,
                                            float* scratch) const {
  if (frame.trivial()) return images;
  float* to = scratch;
  const auto zeros = [&](std::int64_t pixels) { to = std::fill_n(to, pixels * lanes_, 0.0f); };
  const std::int64_t right = frame.framed_width - frame.left - frame.width;
  for (std::int64_t c = 0; c < channels; ++c) {
    zeros(frame.top * frame.framed_width);
    for (std::int64_t row = 0; row < frame.height; ++row, images += frame.width * lanes_) {
      zeros(frame.left);
      to = std::copy_n(images, frame.width * lanes_, to);
      zeros(right);
    }
    zeros((frame.framed_height - frame.top - frame.height) * frame.framed_width);
  }
  return scratch;
}

void InterleavedConvolution::forward(const float* input, const float* bias, float* output,
                                     float* scratch) const {
  const std::int64_t in = g_.in_channels / g_.groups, out = g_.out_channels / g_.groups;
  WindowSums task;
  task.offsets = forward_.offsets.data();
  task.terms = static_cast<std::int64_t>(forward_.offsets.size());
  task.channels = out;
  task.rows = g_.out_height;
  task.columns = g_.out_width;
  task.in_row = g_.stride_height * input_.framed_width * lanes_;
  task.in_column = g_.stride_width * lanes_;
  task.out_plane = g_.out_height * g_.out_width * lanes_;
  task.out_row = g_.out_width * lanes_;
  task.out_column = lanes_;
  if (use_.clamp) task.clamp = &*use_.clamp;
  for (std::int64_t i = 0; i < groups_of_samples(); ++i) {
    const float* images = framed(input_, g_.in_channels, input + i * input_floats(), scratch);
    for (std::int64_t group = 0; group < g_.groups; ++group) {
      task.in = images + group * in * input_.pixels() * lanes_;
      task.weights = forward_.packed.data() + group * out * task.terms;
      task.bias = use_.bias ? bias + group * out : nullptr;
      task.out = output + i * output_floats() + group * out * task.out_plane;
      kernels_.window_sums(task);
    }
  }
}

void InterleavedConvolution::input_gradient(const float* output_gradient, float* input_gradient,
                                            float* scratch) const {
  const std::int64_t in = g_.in_channels / g_.groups, out = g_.out_channels / g_.groups;
  WindowSums task;
  task.channels = in;
  task.in_row = output_.framed_width * lanes_;
  task.in_column = lanes_;
  task.out_plane = g_.in_height * g_.in_width * lanes_;
  task.out_row = g_.stride_height * g_.in_width * lanes_;
  task.out_column = g_.stride_width * lanes_;
  for (std::int64_t i = 0; i < groups_of_samples(); ++i) {
    const float* slopes = framed(output_, g_.out_channels, output_gradient + i * output_floats(), scratch);
    for (const Pass& pass : backward_) {
      task.offsets = pass.offsets.data();
      task.terms = static_cast<std::int64_t>(pass.offsets.size());
      task.rows = pass.rows;
      task.columns = pass.columns;
      const std::int64_t corner = (pass.first_row * g_.in_width + pass.first_column) * lanes_;
      for (std::int64_t group = 0; group < g_.groups; ++group) {
        task.in = slopes + group * out * output_.pixels() * lanes_;
        task.weights = pass.packed.data() + group * in * task.terms;
        task.out = input_gradient + i * input_floats() + group * in * task.out_plane + corner;
        kernels_.window_sums(task);
      }
    }
  }
}

std::size_t InterleavedConvolution::packed_gradient_floats() const {
  return use_.weight_gradient ? static_cast<std::size_t>(g_.weight_count()) : 0;
}

// Of one group of samples.
void InterleavedConvolution::gradient_of_group(std::int64_t index, const float* input,
                                               const float* output_gradient, float* weights, float* bias,
                                               bool add, bool apart, float* scratch) const {
  const std::int64_t in = g_.in_channels / g_.groups, out = g_.out_channels / g_.groups;
  const std::int64_t pixels = g_.out_height * g_.out_width;
  const float* images = framed(input_, g_.in_channels, input + index * input_floats(), scratch);
  const float* slopes = output_gradient + index * output_floats();
  WindowProducts task;
  task.offsets = forward_.offsets.data();
  task.terms = static_cast<std::int64_t>(forward_.offsets.size());
  task.channels = out;
  task.rows = g_.out_height;
  task.columns = g_.out_width;
  task.in_row = g_.stride_height * input_.framed_width * lanes_;
  task.in_column = g_.stride_width * lanes_;
  task.slope_plane = pixels * lanes_;
  task.slope_row = g_.out_width * lanes_;
  task.add = add;
  task.apart = apart;
  for (std::int64_t group = 0; group < g_.groups; ++group) {
    task.in = images + group * in * input_.pixels() * lanes_;
    task.slopes = slopes + group * out * task.slope_plane;
    task.gradient = weights + group * out * task.terms * (apart ? lanes_ : 1);
    kernels_.window_products(task);
  }
  if (use_.bias) kernels_.plane_sums(slopes, g_.out_channels, pixels, bias, add, apart);
}

void InterleavedConvolution::weight_gradient(const float* input, const float* output_gradient,
                                             float* packed_weights, float* bias, float* scratch) const {
  for (std::int64_t i = 0; i < groups_of_samples(); ++i)
    gradient_of_group(i, input, output_gradient, packed_weights, bias, i > 0, false, scratch);
}

void InterleavedConvolution::sample_gradients(std::int64_t count, const float* input,
                                              const float* output_gradient, float* gradients,
                                              float* scratch) const {
  const std::int64_t weights = g_.weight_count() * lanes_;
  const std::int64_t row = weights + (use_.bias ? g_.out_channels * lanes_ : 0);
  for (std::int64_t i = 0; i * lanes_ < count; ++i)
    gradient_of_group(i, input, output_gradient, gradients + i * row, gradients + i * row + weights, false,
                      true, scratch);
}

void InterleavedConvolution::unpack_gradient(const float* packed_weights, float* weights) const {
  std::copy_n(packed_weights, g_.weight_count(), weights);
}

}  // namespace lwsvm
