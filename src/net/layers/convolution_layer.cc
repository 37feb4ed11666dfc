#include "net/layers/convolution_layer.h"

#include <algorithm>

#include "base/error.h"
#include "engine/convolution.h"
#include "engine/interleaved_convolution.h"

namespace lwsvm {
namespace {

std::int64_t windows(std::int64_t in, std::int64_t window, std::int64_t stride, std::int64_t dilation,
                     std::int64_t low, std::int64_t high, bool ceil_mode) {
  const std::int64_t room = in + low + high - (dilation * (window - 1) + 1);
  if (room < 0) fail("net", "a window of {} does not fit into {} + {} of padding", window, in, low + high);
  std::int64_t count = room / stride + 1;
  // A window that begins in the padding after the image would see nothing.
  if (ceil_mode && room % stride != 0 && count * stride < in + low) ++count;
  return count;
}

// Engine: Convolution or InterleavedConvolution.
template <typename Engine>
class ConvolutionKernel final : public Kernel {
 public:
  ConvolutionKernel(const ConvolutionGeometry& geometry, ConvolutionUse use, Engine engine)
      : weights_(static_cast<std::size_t>(geometry.weight_count())),
        channels_(static_cast<std::size_t>(geometry.out_channels)),
        bias_(use.bias),
        learns_(use.weight_gradient),
        convolution_(std::move(engine)) {}

  void pack(const float* parameters, const float*) override {
    convolution_.pack(parameters);
    bias_values_ = parameters + weights_;
  }

  void forward(const ForwardArgs& args) const override {
    convolution_.forward(args.inputs[0], bias_values_, args.output, args.scratch);
  }

  void backward(const BackwardArgs& args) const override {
    if (args.parameter_gradient)
      convolution_.weight_gradient(args.inputs[0], args.output_gradient, args.parameter_gradient,
                                   args.parameter_gradient + packed_weights(), args.scratch);
    if (args.input_gradients[0])
      convolution_.input_gradient(args.output_gradient, args.input_gradients[0], args.scratch);
  }

  bool keeps_inputs() const override { return learns_; }
  std::size_t scratch_floats() const override { return convolution_.scratch_floats(); }
  std::size_t packed_gradient_floats() const override {
    return learns_ ? packed_weights() + (bias_ ? channels_ : 0) : 0;
  }
  void unpack_gradient(const float* packed, float* parameters) const override {
    convolution_.unpack_gradient(packed, parameters);
    if (bias_) std::copy_n(packed + packed_weights(), channels_, parameters + weights_);
  }

 private:
  std::size_t packed_weights() const { return (convolution_.packed_gradient_floats() + 15) / 16 * 16; }

  std::size_t weights_, channels_;
  bool bias_, learns_;
  Engine convolution_;
  const float* bias_values_ = nullptr;
};

}  // namespace

void WindowSpec::validate(LayerKind kind) const {
  if (std::min({height, width, stride_height, stride_width, dilation_height, dilation_width}) < 1)
    fail("net", "{} needs a window, stride and dilation of at least 1, not {}x{}, {}x{} and {}x{}",
         to_string(kind), height, width, stride_height, stride_width, dilation_height, dilation_width);
  if (std::min({pad_top, pad_left, pad_bottom, pad_right}) < 0)
    fail("net", "{} cannot have negative padding", to_string(kind));
}

std::int64_t WindowSpec::out_height(std::int64_t in_height) const {
  return windows(in_height, height, stride_height, dilation_height, pad_top, pad_bottom, ceil_mode);
}

std::int64_t WindowSpec::out_width(std::int64_t in_width) const {
  return windows(in_width, width, stride_width, dilation_width, pad_left, pad_right, ceil_mode);
}

ConvolutionLayer::ConvolutionLayer(const ConvolutionSpec& spec) : spec_(spec) {
  spec.window.validate(kind());
  if (spec.groups < 1 || spec.in_channels % spec.groups != 0 || spec.out_channels % spec.groups != 0)
    fail("net", "a convolution of {} -> {} channels cannot have {} groups", spec.in_channels,
         spec.out_channels, spec.groups);
}

Shape ConvolutionLayer::infer(std::span<const Shape> inputs) const {
  const Shape& image = only_image(kind(), inputs);
  if (image[0] != spec_.in_channels)
    fail("net", "Conv has weights for {} channels but its input has {}", spec_.in_channels, image[0]);
  return {spec_.out_channels, spec_.window.out_height(image[1]), spec_.window.out_width(image[2])};
}

std::vector<ParameterSpec> ConvolutionLayer::parameters() const {
  std::vector<ParameterSpec> specs{
      {"weight",
       {spec_.out_channels, spec_.in_channels / spec_.groups, spec_.window.height, spec_.window.width},
       Role::weight}};
  if (spec_.bias) specs.push_back({"bias", {spec_.out_channels}, Role::bias});
  return specs;
}

std::int64_t ConvolutionLayer::flops(std::span<const Shape>, const Shape& output) const {
  return 2 * element_count(output) * (spec_.in_channels / spec_.groups) * spec_.window.height *
         spec_.window.width;
}

ConvolutionGeometry ConvolutionLayer::geometry(const Shape& in, const Shape& out) const {
  const WindowSpec& w = spec_.window;
  ConvolutionGeometry geometry;
  geometry.in_channels = spec_.in_channels;
  geometry.out_channels = spec_.out_channels;
  geometry.groups = spec_.groups;
  geometry.in_height = in[1];
  geometry.in_width = in[2];
  geometry.out_height = out[1];
  geometry.out_width = out[2];
  geometry.kernel_height = w.height;
  geometry.kernel_width = w.width;
  geometry.stride_height = w.stride_height;
  geometry.stride_width = w.stride_width;
  geometry.dilation_height = w.dilation_height;
  geometry.dilation_width = w.dilation_width;
  geometry.pad_top = w.pad_top;
  geometry.pad_left = w.pad_left;
  geometry.pad_bottom = w.pad_bottom;
  geometry.pad_right = w.pad_right;
  return geometry;
}

// Few channels leave most lanes of oneDNN's kernels idle. A group of 16 interleaved samples must be small
// enough to stay in a core's second cache with what else is there, or it is slower (docs/performance.md). A
// rule about shapes alone: what a convolution computes may depend neither on its neighbours nor on timing.
Interleaving ConvolutionLayer::interleaving(std::span<const Shape> inputs) const {
  constexpr std::int64_t kFewChannels = 24, kMaxBytes = 768 << 10;
  const std::int64_t floats = element_count(inputs[0]) + element_count(infer(inputs));
  const bool few = spec_.groups == 1 && std::max(spec_.in_channels, spec_.out_channels) <= kFewChannels;
  const bool small = 16 * floats * static_cast<std::int64_t>(sizeof(float)) <= kMaxBytes;
  return few && small ? Interleaving::wanted : Interleaving::impossible;
}

std::unique_ptr<Kernel> ConvolutionLayer::compile(const CompileRequest& request) const {
  const ConvolutionGeometry g = geometry(request.inputs[0].shape, request.output.shape);
  const ConvolutionUse use{spec_.bias, request.input_gradient, request.parameter_gradient, request.clamp};
  if (request.output.layout == Layout::interleaved)
    return std::make_unique<ConvolutionKernel<InterleavedConvolution>>(
        g, use, InterleavedConvolution(g, request.samples, request.output.lanes, use));
  return std::make_unique<ConvolutionKernel<Convolution>>(g, use, Convolution(g, request.samples, use));
}

}  // namespace lwsvm
