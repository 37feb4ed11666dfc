// Convolutions, oneDNN's, whichever kernel it picks, and those of interleaved samples, against the definition
// in plain loops and double.
#include "engine/convolution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "convolution_cases.h"
#include "engine/instruction_set.h"
#include "engine/threads.h"

namespace lwsvm {
namespace {

using test::ConvolutionCase;
using test::ConvolutionResults;
using test::GuardedBuffer;

#ifdef LWSVM_SANITIZED
constexpr int geometries = 40;
#else
constexpr int geometries = 400;
#endif

bool same_bits(GuardedBuffer& a, GuardedBuffer& b) {
  return a.size() == b.size() && std::equal(a.data(), a.data() + a.size(), b.data());
}

void expect_same(ConvolutionResults& a, ConvolutionResults& b, bool bias) {
  EXPECT_TRUE(same_bits(a.output, b.output));
  EXPECT_TRUE(same_bits(a.input_gradient, b.input_gradient));
  EXPECT_TRUE(same_bits(a.weight_gradient, b.weight_gradient));
  EXPECT_TRUE(!bias || same_bits(a.bias_gradient, b.bias_gradient));
}

// Both engines, oneDNN's and that of interleaved samples.
template <typename Engine>
class AnyConvolution : public testing::Test {};
using Engines = testing::Types<Convolution, test::InterleavedEngine>;
TYPED_TEST_SUITE(AnyConvolution, Engines);

TYPED_TEST(AnyConvolution, FollowsItsDefinitionForwardAndBackwardAndKeepsToItsBuffers) {
  for (std::uint64_t seed = 0; seed < geometries; ++seed) {
    const ConvolutionCase c = test::random_case(seed);
    TypeParam convolution(c.g, c.samples, {c.bias, true, true});
    EXPECT_EQ(test::complaint(c, convolution), "") << "seed " << seed << ": " << describe(c, convolution);
  }
}

// 1x1 windows with a stride and few channels: what oneDNN 2.6.3 gets wrong by itself (its issue 6035).
TEST(Convolution, OfStridedSinglePixelsFollowsItsDefinition) {
  for (int channels : {1, 2, 4, 7, 8, 12, 15, 16, 17})
    for (int out_channels : {4, 8, 16})
      for (int samples : {1, 3, 32}) {
        ConvolutionCase c;
        c.g.in_channels = channels;
        c.g.out_channels = out_channels;
        c.g.kernel_height = c.g.kernel_width = 1;
        c.g.stride_height = 1 + channels % 2;
        c.g.stride_width = 2;
        c.g.in_height = 6;
        c.g.in_width = 9;
        c.g.out_height = 5 / c.g.stride_height + 1;
        c.g.out_width = 5;
        c.samples = samples;
        Random random(static_cast<std::uint64_t>(channels * 100 + out_channels));
        fill(c, random);
        Convolution convolution(c.g, c.samples, {c.bias, true, true});
        EXPECT_EQ(test::complaint(c, convolution), "") << describe(c, convolution);
      }
}

// What the promises of same bits rest on: the same number of samples, but other neighbours at other places.
TYPED_TEST(AnyConvolution, GivesASampleTheSameBitsWhereverItStands) {
  for (std::uint64_t seed = 0; seed < geometries / 4; ++seed) {
    const ConvolutionCase c = test::random_case(3000 + seed);
    TypeParam convolution(c.g, c.samples, {c.bias, true, true});
    EXPECT_EQ(test::place_complaint(c, convolution), "")
        << "seed " << 3000 + seed << ": " << describe(c, convolution);
  }
}

TYPED_TEST(AnyConvolution, GivesASampleTheSameBitsAloneAsAmongOthers) {
  for (std::uint64_t seed = 0; seed < geometries / 4; ++seed) {
    const ConvolutionCase c = test::random_case(4000 + seed);
    TypeParam convolution(c.g, c.samples, {c.bias, true, true});
    EXPECT_EQ(test::neighbour_complaint(c, convolution), "")
        << "seed " << 4000 + seed << ": " << describe(c, convolution);
  }
}

// Evaluation leaves ReLU and Clip to the convolution before them; recording a pattern does not.
TYPED_TEST(AnyConvolution, ClampsToTheBitsOfAClampBehindIt) {
  for (std::uint64_t seed = 0; seed < geometries; ++seed) {
    const ConvolutionCase c = test::random_case(5000 + seed);
    EXPECT_EQ(test::clamp_complaint<TypeParam>(c), "")
        << "seed " << 5000 + seed << ": " << describe(c, TypeParam(c.g, c.samples, {c.bias, false, false}));
  }
}

// A primitive made for one thread count and run under another is what oneDNN gets silently wrong.
TEST(Convolution, GivesTheSameBitsOutsideAndInsideAParallelRegion) {
  for (std::uint64_t seed = 0; seed < geometries / 8; ++seed) {
    const ConvolutionCase c = test::random_case(1000 + seed);
    Convolution outside(c.g, c.samples, {c.bias, true, true});
    SCOPED_TRACE(describe(c, outside));
    ConvolutionResults alone = run(c, outside);
    std::vector<std::optional<ConvolutionResults>> inside(4);
    Threads(2).for_each(4, [&](int piece, int) {
      Convolution convolution(c.g, c.samples, {c.bias, true, true});
      inside[static_cast<std::size_t>(piece)] = run(c, convolution);
    });
    for (auto& results : inside) expect_same(alone, *results, c.bias);
  }
}

TEST(Convolution, SharedByTwoThreadsGivesTheSameBits) {
  const ConvolutionCase c = test::random_case(77);
  Convolution convolution(c.g, c.samples, {c.bias, false, false});
  convolution.pack(c.weights.data());
  std::vector<AlignedBuffer<float>> outputs(16);
  Threads(2).for_each(16, [&](int piece, int) {
    AlignedBuffer<float> scratch(convolution.scratch_floats());
    AlignedBuffer<float>& output = outputs[static_cast<std::size_t>(piece)];
    output.resize(test::at(c.output_size()));
    convolution.forward(c.input.data(), c.biases.data(), output.data(), scratch.data());
  });
  for (auto& output : outputs) EXPECT_TRUE(std::equal(output.begin(), output.end(), outputs[0].begin()));
}

// Enough work for oneDNN to want two threads, as in training.
TEST(Convolution, WithMuchToDoStaysOnTheThreadThatCallsIt) {
  ConvolutionCase c;
  c.g.in_channels = c.g.out_channels = 64;
  c.g.in_height = c.g.in_width = c.g.out_height = c.g.out_width = 8;
  c.g.kernel_height = c.g.kernel_width = 3;
  c.g.pad_top = c.g.pad_left = c.g.pad_bottom = c.g.pad_right = 1;
  c.samples = 13;
  Random random(5);
  fill(c, random);
  Convolution outside(c.g, c.samples, {true, true, true});
  ConvolutionResults alone = run(c, outside);
  SingleThreadScope single;
  Convolution inside(c.g, c.samples, {true, true, true});
  ConvolutionResults scoped = run(c, inside);
  expect_same(alone, scoped, true);
}

}  // namespace
}  // namespace lwsvm
