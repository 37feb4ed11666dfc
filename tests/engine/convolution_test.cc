// oneDNN's convolutions, whichever kernel it picks, against the definition in plain loops and double.
#include "engine/convolution.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"
#include "engine/tensor.h"
#include "engine/threads.h"

namespace lwsvm {
namespace {

#ifdef LWSVM_SANITIZED
constexpr int geometries = 40;
#else
constexpr int geometries = 200;
#endif

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

std::vector<float> random_floats(std::int64_t count, Random& random) {
  std::vector<float> values(at(count));
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return values;
}

struct Problem {
  ConvolutionGeometry g;
  int samples = 1;
  bool bias = true;
  std::vector<float> input, weights, biases, output_gradient;

  std::int64_t input_size() const { return samples * g.in_channels * g.in_height * g.in_width; }
  std::int64_t output_size() const { return samples * g.out_channels * g.out_height * g.out_width; }

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

void fill(Problem& p, Random& random) {
  p.input = random_floats(p.input_size(), random);
  p.weights = random_floats(p.g.weight_count(), random);
  p.biases = random_floats(p.g.out_channels, random);
  p.output_gradient = random_floats(p.output_size(), random);
}

template <typename T, std::size_t n>
T pick(const T (&choices)[n], Random& random) {
  return choices[random.below(n)];
}

Problem random_problem(std::uint64_t seed) {
  Random random(seed, 1);
  Problem p;
  ConvolutionGeometry& g = p.g;
  while (true) {
    g.in_channels = pick<std::int64_t>({1, 3, 12, 16, 64}, random);
    g.out_channels = pick<std::int64_t>({1, 3, 12, 16, 64}, random);
    if (g.in_channels * g.out_channels <= 1024) break;
  }
  g.groups = 1;
  if (random.below(3) == 0)
    for (std::int64_t groups : {2, 3, 4, 12, 16})
      if (g.in_channels % groups == 0 && g.out_channels % groups == 0 && random.below(2) == 0)
        g.groups = groups;
  g.kernel_height = pick<std::int64_t>({1, 3, 5}, random);
  g.kernel_width = pick<std::int64_t>({1, 3, 5}, random);
  g.stride_height = pick<std::int64_t>({1, 1, 2}, random);
  g.stride_width = random.below(3) ? g.stride_height : 3 - g.stride_height;
  g.dilation_height = pick<std::int64_t>({1, 1, 2}, random);
  g.dilation_width = random.below(3) ? g.dilation_height : 3 - g.dilation_height;
  const std::int64_t reach_h = g.dilation_height * (g.kernel_height - 1);
  const std::int64_t reach_w = g.dilation_width * (g.kernel_width - 1);
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most) + 1));
  };
  g.pad_top = up_to(reach_h);
  g.pad_bottom = up_to(reach_h);
  g.pad_left = up_to(reach_w);
  g.pad_right = up_to(reach_w);
  g.in_height = reach_h + 1 + up_to(5);
  g.in_width = reach_w + 1 + up_to(5);
  g.out_height = (g.in_height + g.pad_top + g.pad_bottom - reach_h - 1) / g.stride_height + 1;
  g.out_width = (g.in_width + g.pad_left + g.pad_right - reach_w - 1) / g.stride_width + 1;
  p.samples = static_cast<int>(pick<std::int64_t>({1, 2, 5}, random));
  p.bias = random.below(2) == 0;
  fill(p, random);
  return p;
}

std::string describe(const Problem& p, const Convolution& convolution) {
  const ConvolutionGeometry& g = p.g;
  return fmt::format(
      "{} samples, {} -> {} channels in {} groups, {}x{} -> {}x{}, window {}x{}, stride {}x{}, dilation "
      "{}x{}, "
      "pad {} {} {} {}, {}",
      p.samples, g.in_channels, g.out_channels, g.groups, g.in_height, g.in_width, g.out_height, g.out_width,
      g.kernel_height, g.kernel_width, g.stride_height, g.stride_width, g.dilation_height, g.dilation_width,
      g.pad_top, g.pad_left, g.pad_bottom, g.pad_right, convolution.implementations());
}

struct Results {
  AlignedBuffer<float> output, input_gradient, weight_gradient, bias_gradient;
};

Results run(const Problem& p, Convolution& convolution) {
  Results r;
  r.output.resize(at(p.output_size()));
  r.input_gradient.resize(at(p.input_size()));
  r.weight_gradient.resize(at(p.g.weight_count()));
  r.bias_gradient.resize(at(p.g.out_channels));
  AlignedBuffer<float> scratch(convolution.scratch_floats()), packed(convolution.packed_gradient_floats());
  for (auto* buffer : {&r.output, &r.input_gradient, &r.weight_gradient, &r.bias_gradient, &scratch, &packed})
    std::fill(buffer->begin(), buffer->end(), std::nanf(""));  // everything must be overwritten
  convolution.pack(p.weights.data());
  convolution.forward(p.input.data(), p.biases.data(), r.output.data(), scratch.data());
  convolution.input_gradient(p.output_gradient.data(), r.input_gradient.data(), scratch.data());
  convolution.weight_gradient(p.input.data(), p.output_gradient.data(), packed.data(), r.bias_gradient.data(),
                              scratch.data());
  convolution.unpack_gradient(packed.data(), r.weight_gradient.data());
  return r;
}

void expect_near(const std::vector<double>& expected, AlignedBuffer<float>& found, const char* what) {
  ASSERT_EQ(expected.size(), found.size());
  double worst = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double off = std::abs(expected[i] - static_cast<double>(found.data()[i]));
    worst = off <= worst ? worst : off;  // also true of a NaN
    size = std::max(size, std::abs(expected[i]));
  }
  EXPECT_LE(worst, 1e-5 * (1 + size)) << what;
}

bool same_bits(AlignedBuffer<float>& a, AlignedBuffer<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

TEST(Convolution, FollowsItsDefinitionForwardAndBackward) {
  for (std::uint64_t seed = 0; seed < geometries; ++seed) {
    const Problem p = random_problem(seed);
    Convolution convolution(p.g, p.samples, {p.bias, true, true});
    SCOPED_TRACE(describe(p, convolution));
    std::vector<double> output(at(p.output_size())), input_gradient(at(p.input_size())),
        weight_gradient(at(p.g.weight_count())), bias_gradient(at(p.g.out_channels));
    for (std::size_t i = 0; i < output.size(); ++i) {
      const std::size_t channel = i % bias_gradient.size();
      if (p.bias) output[i] = static_cast<double>(p.biases[channel]);
      bias_gradient[channel] += static_cast<double>(p.output_gradient[i]);
    }
    p.for_each_product([&](std::size_t in, std::size_t weight, std::size_t out) {
      const double x = p.input[in], w = p.weights[weight], g = p.output_gradient[out];
      output[out] += w * x;
      input_gradient[in] += w * g;
      weight_gradient[weight] += x * g;
    });
    Results found = run(p, convolution);
    expect_near(output, found.output, "forward");
    expect_near(input_gradient, found.input_gradient, "input gradient");
    expect_near(weight_gradient, found.weight_gradient, "weight gradient");
    if (p.bias) expect_near(bias_gradient, found.bias_gradient, "bias gradient");
  }
}

// A primitive made for one thread count and run under another is what oneDNN gets silently wrong.
TEST(Convolution, GivesTheSameBitsOutsideAndInsideAParallelRegion) {
  for (std::uint64_t seed = 0; seed < geometries / 8; ++seed) {
    const Problem p = random_problem(1000 + seed);
    Convolution outside(p.g, p.samples, {p.bias, true, true});
    SCOPED_TRACE(describe(p, outside));
    Results alone = run(p, outside);
    std::vector<Results> inside(4);
    Threads(2).for_each(4, [&](int piece, int) {
      Convolution convolution(p.g, p.samples, {p.bias, true, true});
      inside[static_cast<std::size_t>(piece)] = run(p, convolution);
    });
    for (Results& r : inside) {
      EXPECT_TRUE(same_bits(alone.output, r.output));
      EXPECT_TRUE(same_bits(alone.input_gradient, r.input_gradient));
      EXPECT_TRUE(same_bits(alone.weight_gradient, r.weight_gradient));
      EXPECT_TRUE(!p.bias || same_bits(alone.bias_gradient, r.bias_gradient));
    }
  }
}

TEST(Convolution, SharedByTwoThreadsGivesTheSameBits) {
  const Problem p = random_problem(77);
  Convolution convolution(p.g, p.samples, {p.bias, false, false});
  convolution.pack(p.weights.data());
  std::vector<AlignedBuffer<float>> outputs(16);
  Threads(2).for_each(16, [&](int piece, int) {
    AlignedBuffer<float> scratch(convolution.scratch_floats());
    AlignedBuffer<float>& output = outputs[static_cast<std::size_t>(piece)];
    output.resize(at(p.output_size()));
    convolution.forward(p.input.data(), p.biases.data(), output.data(), scratch.data());
  });
  for (auto& output : outputs) EXPECT_TRUE(same_bits(outputs[0], output));
}

// Enough work for oneDNN to want two threads, as in training.
TEST(Convolution, WithMuchToDoStaysOnTheThreadThatCallsIt) {
  Problem p;
  p.g.in_channels = p.g.out_channels = 64;
  p.g.in_height = p.g.in_width = p.g.out_height = p.g.out_width = 8;
  p.g.kernel_height = p.g.kernel_width = 3;
  p.g.pad_top = p.g.pad_left = p.g.pad_bottom = p.g.pad_right = 1;
  p.samples = 13;
  Random random(5);
  fill(p, random);
  Convolution outside(p.g, p.samples, {true, true, true});
  Results alone = run(p, outside);
  SingleThreadScope single;
  Convolution inside(p.g, p.samples, {true, true, true});
  Results scoped = run(p, inside);
  EXPECT_TRUE(same_bits(alone.output, scoped.output));
  EXPECT_TRUE(same_bits(alone.input_gradient, scoped.input_gradient));
  EXPECT_TRUE(same_bits(alone.weight_gradient, scoped.weight_gradient));
  EXPECT_TRUE(same_bits(alone.bias_gradient, scoped.bias_gradient));
}

}  // namespace
}  // namespace lwsvm
