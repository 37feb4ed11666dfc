// Random convolutions, what they must come to by the definition in plain loops and double, and a run of the
// engine's with every buffer between guard words: its kernels are machine code made at run time, which no
// sanitizer sees.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "engine/convolution.h"
#include "engine/interleaved_convolution.h"
#include "engine/tensor.h"

namespace lwsvm::test {

inline std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

struct ConvolutionCase {
  ConvolutionGeometry g;
  int samples = 1;
  bool bias = true;
  std::vector<float> input, weights, biases, output_gradient;

  std::int64_t input_size() const { return samples * g.in_channels * g.in_height * g.in_width; }
  std::int64_t output_size() const { return samples * g.out_channels * g.out_height * g.out_width; }
  std::int64_t products() const { return output_size() * g.weight_count() / g.out_channels; }

  // visit(input index, weight index, output index) for every product in the sum; images are channels-last.
  template <typename Visit>
  void for_each_product(const Visit& visit) const {
    const std::int64_t in = g.in_channels / g.groups, out = g.out_channels / g.groups;
    for (std::int64_t n = 0; n < samples; ++n)
      for (std::int64_t oh = 0; oh < g.out_height; ++oh)
        for (std::int64_t ow = 0; ow < g.out_width; ++ow)
          for (std::int64_t o = 0; o < g.out_channels; ++o)
            for (std::int64_t i = 0; i < in; ++i)
              for (std::int64_t kh = 0; kh < g.kernel_height; ++kh)
                for (std::int64_t kw = 0; kw < g.kernel_width; ++kw) {
                  const std::int64_t h = oh * g.stride_height + kh * g.dilation_height - g.pad_top;
                  const std::int64_t w = ow * g.stride_width + kw * g.dilation_width - g.pad_left;
                  if (h < 0 || h >= g.in_height || w < 0 || w >= g.in_width) continue;
                  const std::int64_t channel = o / out * in + i;
                  visit(at(((n * g.in_height + h) * g.in_width + w) * g.in_channels + channel),
                        at(((o * in + i) * g.kernel_height + kh) * g.kernel_width + kw),
                        at(((n * g.out_height + oh) * g.out_width + ow) * g.out_channels + o));
                }
  }
};

inline void fill(ConvolutionCase& c, Random& random) {
  const auto random_floats = [&](std::int64_t count) {
    std::vector<float> values(at(count));
    for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
    return values;
  };
  c.input = random_floats(c.input_size());
  c.weights = random_floats(c.g.weight_count());
  c.biases = random_floats(c.g.out_channels);
  c.output_gradient = random_floats(c.output_size());
}

// Any geometry that networks have: odd channels, strides, dilations, groups, uneven padding.
inline ConvolutionGeometry random_geometry(Random& random) {
  const auto up_to = [&](std::int64_t max) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(max) + 1));
  };
  const auto one_of = [&](std::initializer_list<std::int64_t> choices) {
    return choices.begin()[random.below(choices.size())];
  };
  const auto channels = [&] { return random.below(2) ? one_of({1, 3, 8, 12, 16, 64}) : 1 + up_to(40); };
  ConvolutionGeometry g;
  if (random.below(4) == 0) {  // in groups, one channel each or a few
    g.groups = one_of({2, 3, 4, 8, 12, 16, 17, 32});
    g.in_channels = g.groups * one_of({1, 1, 2, 3});
    g.out_channels = g.groups * one_of({1, 1, 2, 3});
  } else {
    g.in_channels = channels();
    g.out_channels = channels();
  }
  g.kernel_height = one_of({1, 1, 2, 3, 5, 7});
  g.kernel_width = random.below(3) ? g.kernel_height : one_of({1, 2, 3, 5, 7});
  g.stride_height = one_of({1, 1, 2, 3, 4});
  g.stride_width = random.below(3) ? g.stride_height : one_of({1, 2, 3});
  g.dilation_height = one_of({1, 1, 1, 2, 3});
  g.dilation_width = random.below(3) ? g.dilation_height : one_of({1, 2});
  const std::int64_t reach_h = g.dilation_height * (g.kernel_height - 1);
  const std::int64_t reach_w = g.dilation_width * (g.kernel_width - 1);
  const std::int64_t slack =
      random.below(8) == 0 ? 1 : 0;  // now and then more padding than the window reaches
  g.pad_top = up_to(reach_h + slack);
  g.pad_bottom = up_to(reach_h + slack);
  g.pad_left = up_to(reach_w + slack);
  g.pad_right = up_to(reach_w + slack);
  g.in_height = reach_h + 1 + up_to(9);
  g.in_width = reach_w + 1 + up_to(9);
  g.out_height = (g.in_height + g.pad_top + g.pad_bottom - reach_h - 1) / g.stride_height + 1;
  g.out_width = (g.in_width + g.pad_left + g.pad_right - reach_w - 1) / g.stride_width + 1;
  return g;
}

inline ConvolutionCase random_case(std::uint64_t seed) {
  Random random(seed, 1);
  ConvolutionCase c;
  do {
    c.g = random_geometry(random);
    c.samples =
        random.below(2) ? 1 + static_cast<int>(random.below(4)) : 1 + static_cast<int>(random.below(37));
  } while (c.products() > 1'500'000);
  c.bias = random.below(2) == 0;
  fill(c, random);
  return c;
}

template <typename Engine>
std::string describe(const ConvolutionCase& c, const Engine& convolution) {
  const ConvolutionGeometry& g = c.g;
  return fmt::format(
      "{} samples, {} -> {} channels in {} groups, {}x{} -> {}x{}, window {}x{}, stride {}x{}, dilation "
      "{}x{}, pad {} {} {} {}, {} bias, {}",
      c.samples, g.in_channels, g.out_channels, g.groups, g.in_height, g.in_width, g.out_height, g.out_width,
      g.kernel_height, g.kernel_width, g.stride_height, g.stride_width, g.dilation_height, g.dilation_width,
      g.pad_top, g.pad_left, g.pad_bottom, g.pad_right, c.bias ? "with" : "no",
      convolution.implementations());
}

// Floats between guard words; all NaN at first, so that what is not written shows.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t size) : size_(size), memory_(size + 2 * kGuard) {
    std::fill(memory_.begin(), memory_.end(), std::nanf(""));
    std::fill_n(memory_.begin(), kGuard, kWord);
    std::fill_n(memory_.begin() + kGuard + size, kGuard, kWord);
  }
  float* data() { return memory_.data() + kGuard; }
  std::size_t size() const { return size_; }
  bool intact() {
    const auto is_word = [](float value) { return value == kWord; };
    return std::all_of(memory_.begin(), memory_.begin() + kGuard, is_word) &&
           std::all_of(memory_.begin() + kGuard + size_, memory_.end(), is_word);
  }

 private:
  static constexpr std::size_t kGuard = 1024;  // a multiple of the widest alignment
  static constexpr float kWord = -12345.678f;
  std::size_t size_;
  AlignedBuffer<float> memory_;
};

// InterleavedConvolution in the place of a Convolution: takes and gives channels-last images. Its own buffers
// have guard words too.
class InterleavedEngine {
 public:
  InterleavedEngine(const ConvolutionGeometry& g, int samples, ConvolutionUse use)
      : samples_(samples),
        in_{{g.in_channels, g.in_height, g.in_width}, Layout::channels_last},
        out_{{g.out_channels, g.out_height, g.out_width}, Layout::channels_last},
        convolution_(g, samples, interleaved_lanes(samples), use) {}

  void pack(const float* weights) { convolution_.pack(weights); }
  std::size_t scratch_floats() const { return convolution_.scratch_floats(); }
  void forward(const float* input, const float* bias, float* output, float* scratch) const {
    GuardedBuffer in = interleaved(in_, input), out(at(lanes_of(out_).floats(samples_)));
    convolution_.forward(in.data(), bias, out.data(), scratch);
    hand_out(out_, out, output);
  }
  void input_gradient(const float* output_gradient, float* input_gradient, float* scratch) const {
    GuardedBuffer out = interleaved(out_, output_gradient), in(at(lanes_of(in_).floats(samples_)));
    convolution_.input_gradient(out.data(), in.data(), scratch);
    hand_out(in_, in, input_gradient);
  }
  std::size_t packed_gradient_floats() const { return convolution_.packed_gradient_floats(); }
  void weight_gradient(const float* input, const float* output_gradient, float* packed, float* bias,
                       float* scratch) const {
    GuardedBuffer in = interleaved(in_, input), out = interleaved(out_, output_gradient);
    convolution_.weight_gradient(in.data(), out.data(), packed, bias, scratch);
  }
  void unpack_gradient(const float* packed, float* weights) const {
    convolution_.unpack_gradient(packed, weights);
  }
  std::string implementations() const { return fmt::format("{} lanes", interleaved_lanes(samples_)); }

 private:
  TensorSpec lanes_of(const TensorSpec& spec) const {
    return {spec.shape, Layout::interleaved, interleaved_lanes(samples_)};
  }
  GuardedBuffer interleaved(const TensorSpec& spec, const float* images) const {
    GuardedBuffer buffer(at(lanes_of(spec).floats(samples_)));
    relayout(spec, images, lanes_of(spec), buffer.data(), samples_);
    return buffer;
  }
  void hand_out(const TensorSpec& spec, GuardedBuffer& buffer, float* images) const {
    LWSVM_CHECK(buffer.intact());
    relayout(lanes_of(spec), buffer.data(), spec, images, samples_);
  }

  int samples_;
  TensorSpec in_, out_;
  InterleavedConvolution convolution_;
};

struct ConvolutionResults {
  explicit ConvolutionResults(const ConvolutionCase& c)
      : output(at(c.output_size())),
        input_gradient(at(c.input_size())),
        weight_gradient(at(c.g.weight_count())),
        bias_gradient(at(c.g.out_channels)) {}

  GuardedBuffer output, input_gradient, weight_gradient, bias_gradient;
  std::string overrun;  // which buffer was written outside of, empty: none
};

template <typename Engine>
ConvolutionResults run(const ConvolutionCase& c, Engine& convolution) {
  ConvolutionResults r(c);
  GuardedBuffer scratch(convolution.scratch_floats()), packed(convolution.packed_gradient_floats());
  const auto check = [&](const char* step) {
    const std::pair<const char*, GuardedBuffer*> buffers[] = {{"output", &r.output},
                                                              {"input gradient", &r.input_gradient},
                                                              {"weight gradient", &r.weight_gradient},
                                                              {"bias gradient", &r.bias_gradient},
                                                              {"scratch", &scratch},
                                                              {"packed gradient", &packed}};
    for (const auto& [name, buffer] : buffers)
      if (r.overrun.empty() && !buffer->intact())
        r.overrun = fmt::format("{}: wrote outside of {}", step, name);
  };
  convolution.pack(c.weights.data());
  convolution.forward(c.input.data(), c.biases.data(), r.output.data(), scratch.data());
  check("forward");
  convolution.input_gradient(c.output_gradient.data(), r.input_gradient.data(), scratch.data());
  check("input_gradient");
  convolution.weight_gradient(c.input.data(), c.output_gradient.data(), packed.data(), r.bias_gradient.data(),
                              scratch.data());
  check("weight_gradient");
  convolution.unpack_gradient(packed.data(), r.weight_gradient.data());
  check("unpack_gradient");
  return r;
}

// What is wrong with a result, or nothing. Off by more than float's rounding of a sum of this length, or NaN.
inline std::string difference(const char* what, const std::vector<double>& expected, GuardedBuffer& found) {
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double off = std::abs(expected[i] - static_cast<double>(found.data()[i]));
    worst = off <= worst ? worst : off;  // also true of a NaN
    size = std::max(size, std::abs(expected[i]));
  }
  return worst <= 1e-5 * (1 + size) ? "" : fmt::format("{} is off by {} of {}", what, worst, size);
}

// Runs the case and holds it against the definition; what is wrong, or nothing.
template <typename Engine>
std::string complaint(const ConvolutionCase& c, Engine& convolution) {
  std::vector<double> output(at(c.output_size())), input_gradient(at(c.input_size())),
      weight_gradient(at(c.g.weight_count())), bias_gradient(at(c.g.out_channels));
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::size_t channel = i % bias_gradient.size();
    if (c.bias) output[i] = static_cast<double>(c.biases[channel]);
    bias_gradient[channel] += static_cast<double>(c.output_gradient[i]);
  }
  c.for_each_product([&](std::size_t in, std::size_t weight, std::size_t out) {
    const double x = c.input[in], w = c.weights[weight], g = c.output_gradient[out];
    output[out] += w * x;
    input_gradient[in] += w * g;
    weight_gradient[weight] += x * g;
  });
  ConvolutionResults found = run(c, convolution);
  if (!found.overrun.empty()) return found.overrun;
  for (const std::string& wrong :
       {difference("forward", output, found.output),
        difference("the input gradient", input_gradient, found.input_gradient),
        difference("the weight gradient", weight_gradient, found.weight_gradient),
        c.bias ? difference("the bias gradient", bias_gradient, found.bias_gradient) : std::string()})
    if (!wrong.empty()) return wrong;
  return "";
}

// The samples in the opposite order: does each keep its bits? Which does not, or nothing.
template <typename Engine>
std::string place_complaint(const ConvolutionCase& c, Engine& convolution) {
  ConvolutionCase turned = c;
  const std::size_t in = at(c.input_size() / c.samples), out = at(c.output_size() / c.samples);
  const auto place = [&](int i) { return at(c.samples - 1 - i); };
  for (int i = 0; i < c.samples; ++i) {
    std::copy_n(c.input.data() + at(i) * in, in, turned.input.data() + place(i) * in);
    std::copy_n(c.output_gradient.data() + at(i) * out, out, turned.output_gradient.data() + place(i) * out);
  }
  ConvolutionResults a = run(c, convolution), b = run(turned, convolution);
  for (int i = 0; i < c.samples; ++i) {
    const float *output = a.output.data() + at(i) * out, *gradient = a.input_gradient.data() + at(i) * in;
    if (!std::equal(output, output + out, b.output.data() + place(i) * out))
      return fmt::format("output of sample {}", i);
    if (!std::equal(gradient, gradient + in, b.input_gradient.data() + place(i) * in))
      return fmt::format("input gradient of sample {}", i);
  }
  return "";
}

// A sample's output and input gradient alone and among the others: the same bits? Which differs, or nothing.
template <typename Engine>
std::string neighbour_complaint(const ConvolutionCase& c, Engine& convolution) {
  ConvolutionResults together = run(c, convolution);
  ConvolutionCase one = c;
  one.samples = 1;
  Engine alone(c.g, 1, {c.bias, true, true});
  const std::size_t in = at(one.input_size()), out = at(one.output_size());
  for (int i = 0; i < c.samples; ++i) {
    const auto sample = static_cast<std::size_t>(i);
    one.input.assign(c.input.data() + sample * in, c.input.data() + (sample + 1) * in);
    one.output_gradient.assign(c.output_gradient.data() + sample * out,
                               c.output_gradient.data() + (sample + 1) * out);
    ConvolutionResults found = run(one, alone);
    if (!std::equal(found.output.data(), found.output.data() + out, together.output.data() + sample * out))
      return fmt::format("output of sample {}", i);
    if (!std::equal(found.input_gradient.data(), found.input_gradient.data() + in,
                    together.input_gradient.data() + sample * in))
      return fmt::format("input gradient of sample {}", i);
  }
  return "";
}

// A ReLU and a Clip done on the way out: the bits of doing them afterwards? What differs, or nothing.
template <typename Engine>
std::string clamp_complaint(const ConvolutionCase& c) {
  const auto forward = [&](const std::optional<Clamp>& clamp) {
    Engine convolution(c.g, c.samples, {c.bias, false, false, clamp});
    convolution.pack(c.weights.data());
    GuardedBuffer output(at(c.output_size())), scratch(convolution.scratch_floats());
    convolution.forward(c.input.data(), c.biases.data(), output.data(), scratch.data());
    LWSVM_CHECK(output.intact() && scratch.intact());
    return std::vector<float>(output.data(), output.data() + output.size());
  };
  const std::vector<float> plain = forward({});
  for (const Clamp& clamp : {Clamp{.low = 0.0f}, Clamp{-0.5f, 1.0f}}) {
    std::vector<float> expected = plain;
    std::transform(plain.begin(), plain.end(), expected.begin(), clamp);
    if (forward(clamp) != expected) return fmt::format("clamped to {} .. {}", clamp.low, clamp.high);
  }
  return "";
}

}  // namespace lwsvm::test
