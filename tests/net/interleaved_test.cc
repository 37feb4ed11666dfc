// Layers on interleaved samples against the same layers on channels-last images, to the bit; and that a
// network of few channels gets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "checks.h"
#include "net/layers/activations.h"
#include "net/layers/pooling_layers.h"
#include "net/program.h"

namespace lwsvm {
namespace {

struct Run {
  std::vector<float> output, replayed, in_gradient;  // channels last
};

// Forward, the pattern replayed on other values, and backward of a layer in one layout.
Run run(const Layer& layer, const Shape& in, const Shape& out, Layout layout, int samples, bool relu,
        std::uint64_t seed) {
  const auto spec = [&](const Shape& shape) {
    return layout == Layout::interleaved ? TensorSpec{shape, layout, interleaved_lanes(samples)}
                                         : TensorSpec{shape, layout};
  };
  CompileRequest request;
  request.samples = samples;
  request.inputs = {spec(in)};
  request.output = spec(out);
  request.input_gradient = true;
  request.absorbs_relu = relu;
  const auto kernel = layer.compile(request);
  Random random(seed, 3);
  const auto images = [&](const TensorSpec& wanted) {
    const TensorSpec plain{wanted.shape, Layout::channels_last};
    std::vector<float> values(at(plain.floats(samples)));
    for (float& value : values) value = static_cast<float>(random.below(7)) - 3;  // with ties
    AlignedBuffer<float> result(at(wanted.floats(samples)));
    relayout(plain, values.data(), wanted, result.data(), samples);
    return result;
  };
  const auto plain = [&](const AlignedBuffer<float>& values, const TensorSpec& found) {
    const TensorSpec wanted{found.shape, Layout::channels_last};
    std::vector<float> result(at(wanted.floats(samples)));
    relayout(found, values.data(), wanted, result.data(), samples);
    return result;
  };
  const AlignedBuffer<float> input = images(request.inputs[0]), other = images(request.inputs[0]);
  const AlignedBuffer<float> slopes = images(request.output);
  AlignedBuffer<float> output(at(request.output.floats(samples))), scratch(kernel->scratch_floats());
  AlignedBuffer<float> gradient(at(request.inputs[0].floats(samples)));
  std::fill(gradient.begin(), gradient.end(), std::nanf(""));
  AlignedBuffer<std::uint8_t> pattern(kernel->pattern_bytes());
  Run result;
  const float* inputs[] = {input.data()};
  kernel->forward({inputs, output.data(), pattern.data(), PatternUse::ignore, scratch.data()});
  const std::vector<float> ignoring = plain(output, request.output);
  kernel->forward({inputs, output.data(), pattern.data(), PatternUse::record, scratch.data()});
  result.output = plain(output, request.output);
  EXPECT_EQ(result.output, ignoring);
  inputs[0] = other.data();
  kernel->forward({inputs, output.data(), pattern.data(), PatternUse::replay, scratch.data()});
  result.replayed = plain(output, request.output);
  float* gradients[] = {gradient.data()};
  kernel->backward({inputs, slopes.data(), gradients, pattern.data(), nullptr, scratch.data()});
  result.in_gradient = plain(gradient, request.inputs[0]);
  return result;
}

void expect_same_in_both_layouts(const Layer& layer, const Shape& in, int samples, bool relu,
                                 std::uint64_t seed) {
  const Shape out = layer.infer(std::span(&in, 1));
  const Run a = run(layer, in, out, Layout::channels_last, samples, relu, seed);
  const Run b = run(layer, in, out, Layout::interleaved, samples, relu, seed);
  EXPECT_EQ(a.output, b.output);
  EXPECT_EQ(a.replayed, b.replayed);
  EXPECT_EQ(a.in_gradient, b.in_gradient);
}

TEST(Interleaved, MaxPoolIsThatOfChannelsLastImages) {
  for (std::uint64_t seed = 0; seed < repetitions(400, 60); ++seed) {
    Random random(seed, 31);
    const auto up_to = [&](std::uint64_t max) { return static_cast<std::int64_t>(random.below(max + 1)); };
    WindowSpec w;
    w.height = 1 + up_to(3);
    w.width = random.below(2) ? w.height : 1 + up_to(3);
    w.stride_height = 1 + up_to(3);
    w.stride_width = random.below(2) ? w.stride_height : 1 + up_to(3);
    w.dilation_height = 1 + up_to(1);
    w.dilation_width = 1 + up_to(1);
    w.pad_top = up_to(static_cast<std::uint64_t>(w.height) - 1);
    w.pad_left = up_to(static_cast<std::uint64_t>(w.width) - 1);
    w.pad_bottom = up_to(static_cast<std::uint64_t>(w.height) - 1);
    w.pad_right = up_to(static_cast<std::uint64_t>(w.width) - 1);
    w.ceil_mode = random.below(4) == 0;
    const Shape in{1 + up_to(19), 7 + up_to(5), 7 + up_to(5)};
    const int samples = 1 + static_cast<int>(random.below(37));
    SCOPED_TRACE(
        fmt::format("seed {}: {} samples of {}, window {}x{}, stride {}x{}, dilation {}x{}, pad {} {} {} {}",
                    seed, samples, to_string(in), w.height, w.width, w.stride_height, w.stride_width,
                    w.dilation_height, w.dilation_width, w.pad_top, w.pad_left, w.pad_bottom, w.pad_right));
    expect_same_in_both_layouts(MaxPoolLayer(w), in, samples, random.below(2) == 0, seed);
    if (HasFailure()) return;
  }
}

TEST(Interleaved, ActivationsAreThoseOfChannelsLastImages) {
  for (int samples : {1, 8, 9, 37}) {
    expect_same_in_both_layouts(ReluLayer(), {3, 4, 5}, samples, false, 1);
    expect_same_in_both_layouts(LeakyReluLayer(0.25f), {5, 3, 3}, samples, false, 2);
    expect_same_in_both_layouts(ClipLayer(-1.0f, 2.0f), {2, 6, 5}, samples, false, 3);
    expect_same_in_both_layouts(AbsLayer(), {1, 6, 5}, samples, false, 4);
  }
}

}  // namespace
}  // namespace lwsvm
