#include "engine/convolution.h"

#include <dnnl.hpp>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "engine/elementwise.h"
#include "engine/tensor.h"
#include "engine/threads.h"

namespace lwsvm {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using dnnl::memory;

constexpr auto kFloat = memory::data_type::f32;

const dnnl::engine& cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& stream() {
  thread_local dnnl::stream stream(cpu());
  return stream;
}

memory view(const Desc& desc, const float* data) {
  return {desc, cpu(), const_cast<float*>(data)};
}

std::size_t floats(const Desc& desc) {
  return (desc.get_size() + sizeof(float) - 1) / sizeof(float);
}

dnnl::primitive_attr user_scratchpad(const std::optional<Clamp>& clamp = {}) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!clamp) return attributes;
  dnnl::post_ops operations;
  if (clamp->is_relu())
    operations.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  else
    operations.append_eltwise(1.0f, dnnl::algorithm::eltwise_clip, clamp->low, clamp->high);
  attributes.set_post_ops(operations);
  return attributes;
}

Desc weight_dims(std::int64_t out, std::int64_t in, const ConvolutionGeometry& g, Tag plain,
                 Tag grouped_plain, bool any) {
  const memory::dims dims =
      g.groups == 1 ? memory::dims{out, in, g.kernel_height, g.kernel_width}
                    : memory::dims{g.groups, out / g.groups, in / g.groups, g.kernel_height, g.kernel_width};
  return {dims, kFloat, any ? Tag::any : (g.groups == 1 ? plain : grouped_plain)};
}

Desc plain_weights(std::int64_t out, std::int64_t in, const ConvolutionGeometry& g) {
  return weight_dims(out, in, g, Tag::oihw, Tag::goihw, false);
}

Desc free_weights(std::int64_t out, std::int64_t in, const ConvolutionGeometry& g) {
  return weight_dims(out, in, g, Tag::oihw, Tag::goihw, true);
}

void reorder(const Desc& from, const float* source, const Desc& to, float* target) {
  SingleThreadScope single;
  memory input = view(from, source), output = view(to, target);
  dnnl::reorder(input, output).execute(stream(), input, output);
}

// [group][out][in][kh][kw] -> [group][in][out][kh][kw] with both kernel axes reversed.
void flip_and_transpose(const ConvolutionGeometry& g, const float* weights, float* flipped) {
  const std::int64_t out = g.out_channels / g.groups, in = g.in_channels / g.groups;
  const std::int64_t taps = g.kernel_height * g.kernel_width;
  for (std::int64_t group = 0; group < g.groups; ++group)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i) {
        const float* from = weights + ((group * out + o) * in + i) * taps;
        float* to = flipped + ((group * in + i) * out + o) * taps;
        std::reverse_copy(from, from + taps, to);
      }
}

// A 1x1 window with a stride reads single pixels: as a convolution of stride 1 over these alone it is the
// same sum. oneDNN does that too, but where there are fewer input channels than lanes in a register the
// gradient of the weights writes past its workspace (its issue 6035: wrong numbers, a crash or a hang; AVX2
// and AVX-512).
bool reads_single_pixels(const ConvolutionGeometry& g) {
  return g.kernel_height == 1 && g.kernel_width == 1 &&
         (g.stride_height > 1 || g.stride_width > 1 || g.pad_top != 0 || g.pad_left != 0 ||
          g.pad_bottom != 0 || g.pad_right != 0);
}

ConvolutionGeometry over_single_pixels(ConvolutionGeometry g) {
  g.in_height = g.out_height;
  g.in_width = g.out_width;
  g.stride_height = g.stride_width = g.dilation_height = g.dilation_width = 1;
  g.pad_top = g.pad_left = g.pad_bottom = g.pad_right = 0;
  return g;
}

// visit(pixel of the output, pixel of the input or -1 in the padding) for every window of a batch.
template <typename Visit>
void for_single_pixels(const ConvolutionGeometry& g, int samples, const Visit& visit) {
  std::int64_t out = 0;
  for (int n = 0; n < samples; ++n)
    for (std::int64_t oh = 0; oh < g.out_height; ++oh)
      for (std::int64_t ow = 0; ow < g.out_width; ++ow, ++out) {
        const std::int64_t h = oh * g.stride_height - g.pad_top, w = ow * g.stride_width - g.pad_left;
        const bool inside = h >= 0 && h < g.in_height && w >= 0 && w < g.in_width;
        visit(out, inside ? (n * g.in_height + h) * g.in_width + w : -1);
      }
}

// Where a convolution becomes a matrix product over the pixels, its blocks, and with them the last bits,
// depend on how many images share a call: there one image at a time, which costs nothing on one thread. A
// sample's values then never depend on its neighbours.
template <typename Describe>
auto for_each_sample_alike(int samples, const Describe& describe) {
  auto desc = describe(samples);
  const bool by_product = std::string_view(desc.impl_info_str()).find("gemm") != std::string_view::npos;
  return by_product && samples > 1 ? describe(1) : desc;
}

// visit(first image) for the runs that a primitive for `batch` images needs.
template <typename Visit>
void for_runs(int samples, const Desc& batch, const Visit& visit) {
  const auto step = static_cast<int>(batch.dims()[0]);
  for (int first = 0; first < samples; first += step) visit(first);
}

}  // namespace

struct Convolution::Impl {
  ConvolutionGeometry whole;  // as asked for
  bool single_pixels;
  ConvolutionGeometry g;  // as run: over the pixels that are read
  int samples;
  ConvolutionUse use;
  struct {
    memory::dims strides, dilation, pad_low, pad_high;
  } window;
  Desc bias;

  dnnl::convolution_forward::primitive_desc forward_desc;
  dnnl::convolution_forward forward;
  AlignedBuffer<float> forward_weights;
  // The clamp is part of `forward`; not with AVX, whose kernels cannot: others would, to other bits.
  bool clamps = false;

  // The gradient to the input: as a forward convolution where it can be, else oneDNN's own.
  std::optional<dnnl::convolution_forward::primitive_desc> flipped_desc;
  dnnl::convolution_forward flipped;
  std::optional<dnnl::convolution_backward_data::primitive_desc> backward_desc;
  dnnl::convolution_backward_data backward;
  AlignedBuffer<float> backward_weights;

  std::optional<dnnl::convolution_backward_weights::primitive_desc> gradient_desc;
  dnnl::convolution_backward_weights gradient;
  dnnl::reorder unpack;  // of the gradient: called once per sample where every sample has its own

  std::size_t scratch = 0;  // of the primitives; the single pixels come before it

  Impl(const ConvolutionGeometry& geometry, int samples, ConvolutionUse wanted);
  Desc images_in(int count) const;
  Desc images_out(int count) const;
  dnnl::convolution_forward::primitive_desc describe_forward(int count,
                                                             const std::optional<Clamp>& clamp = {}) const;
  dnnl::convolution_forward::primitive_desc describe_flipped(int count, const memory::dims& low,
                                                             const memory::dims& high) const;
  dnnl::convolution_backward_data::primitive_desc describe_backward(int count) const;
  void make_input_gradient();
  void make_weight_gradient();
  std::int64_t input_size() const { return g.in_channels * g.in_height * g.in_width; }  // of a sample
  std::int64_t output_size() const { return g.out_channels * g.out_height * g.out_width; }
  std::size_t pixel_floats() const {
    constexpr std::size_t line = 16;  // floats of a cache line, to which oneDNN's own scratch is aligned
    return single_pixels ? (floats(images_in(samples)) + line - 1) / line * line : 0;
  }
  const float* taken_pixels(const float* image, float* pixels) const;
  void spread_pixels(const float* pixels, float* image) const;
  void run_input_gradient(const float* output_gradient, float* input_gradient, float* scratch) const;
  template <typename PrimitiveDesc>
  void reserve(const PrimitiveDesc& desc) {
    scratch = std::max(scratch, floats(desc.scratchpad_desc()));
  }
};

Convolution::Impl::Impl(const ConvolutionGeometry& geometry, int batch, ConvolutionUse wanted)
    : whole(geometry),
      single_pixels(reads_single_pixels(geometry)),
      g(single_pixels ? over_single_pixels(geometry) : geometry),
      samples(batch),
      use(wanted) {
  SingleThreadScope single;
  if (use.bias) bias = Desc({g.out_channels}, kFloat, Tag::a);
  window = {{g.stride_height, g.stride_width},
            {g.dilation_height - 1, g.dilation_width - 1},
            {g.pad_top, g.pad_left},
            {g.pad_bottom, g.pad_right}};
  const auto describe = [&](const std::optional<Clamp>& clamp) {
    return for_each_sample_alike(samples, [&](int count) { return describe_forward(count, clamp); });
  };
  forward_desc = describe({});
  if (use.clamp) {
    auto clamping = describe(use.clamp);
    clamps = std::string_view(clamping.impl_info_str()) == forward_desc.impl_info_str();
    if (clamps) forward_desc = std::move(clamping);
  }
  forward = dnnl::convolution_forward(forward_desc);
  forward_weights.resize(floats(forward_desc.weights_desc()));
  reserve(forward_desc);
  if (use.input_gradient) make_input_gradient();
  if (use.weight_gradient) make_weight_gradient();
}

Desc Convolution::Impl::images_in(int count) const {
  return {{count, g.in_channels, g.in_height, g.in_width}, kFloat, Tag::nhwc};
}

Desc Convolution::Impl::images_out(int count) const {
  return {{count, g.out_channels, g.out_height, g.out_width}, kFloat, Tag::nhwc};
}

// What the primitives take as their input: the image, or the pixels of it that are read.
const float* Convolution::Impl::taken_pixels(const float* image, float* pixels) const {
  if (!single_pixels) return image;
  for_single_pixels(whole, samples, [&](std::int64_t to, std::int64_t from) {
    float* target = pixels + to * g.in_channels;
    if (from >= 0)
      std::copy_n(image + from * g.in_channels, g.in_channels, target);
    else
      std::fill_n(target, g.in_channels, 0.0f);
  });
  return pixels;
}

void Convolution::Impl::spread_pixels(const float* pixels, float* image) const {
  std::fill_n(image, samples * whole.in_height * whole.in_width * g.in_channels, 0.0f);
  for_single_pixels(whole, samples, [&](std::int64_t from, std::int64_t to) {
    if (to >= 0) std::copy_n(pixels + from * g.in_channels, g.in_channels, image + to * g.in_channels);
  });
}

// One prop_kind for every forward, so that values agree to the bit wherever they are computed.
dnnl::convolution_forward::primitive_desc Convolution::Impl::describe_forward(
    int count, const std::optional<Clamp>& clamp) const {
  return {{dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, images_in(count),
           free_weights(g.out_channels, g.in_channels, g), bias, images_out(count), window.strides,
           window.dilation, window.pad_low, window.pad_high},
          user_scratchpad(clamp),
          cpu()};
}

dnnl::convolution_forward::primitive_desc Convolution::Impl::describe_flipped(
    int count, const memory::dims& low, const memory::dims& high) const {
  return {{dnnl::prop_kind::forward_inference,
           dnnl::algorithm::convolution_direct,
           images_out(count),
           free_weights(g.in_channels, g.out_channels, g),
           images_in(count),
           {1, 1},
           window.dilation,
           low,
           high},
          user_scratchpad(),
          cpu()};
}

dnnl::convolution_backward_data::primitive_desc Convolution::Impl::describe_backward(int count) const {
  return {
      {dnnl::algorithm::convolution_direct, images_in(count), free_weights(g.out_channels, g.in_channels, g),
       images_out(count), window.strides, window.dilation, window.pad_low, window.pad_high},
      user_scratchpad(),
      cpu(),
      forward_desc};
}

void Convolution::Impl::make_input_gradient() {
  const std::int64_t reach_height = g.dilation_height * (g.kernel_height - 1);
  const std::int64_t reach_width = g.dilation_width * (g.kernel_width - 1);
  const memory::dims low{reach_height - g.pad_top, reach_width - g.pad_left};
  const memory::dims high{reach_height - g.pad_bottom, reach_width - g.pad_right};
  const bool flips = g.stride_height == 1 && g.stride_width == 1 && low[0] >= 0 && low[1] >= 0 &&
                     high[0] >= 0 && high[1] >= 0 && g.in_channels / g.groups >= 8;
  if (flips) {
    flipped_desc =
        for_each_sample_alike(samples, [&](int count) { return describe_flipped(count, low, high); });
    flipped = dnnl::convolution_forward(*flipped_desc);
    backward_weights.resize(floats(flipped_desc->weights_desc()));
    reserve(*flipped_desc);
    return;
  }
  backward_desc = for_each_sample_alike(samples, [&](int count) { return describe_backward(count); });
  backward = dnnl::convolution_backward_data(*backward_desc);
  backward_weights.resize(floats(backward_desc->weights_desc()));
  reserve(*backward_desc);
}

void Convolution::Impl::make_weight_gradient() {
  gradient_desc.emplace(dnnl::convolution_backward_weights::desc(
                            dnnl::algorithm::convolution_direct, images_in(samples),
                            free_weights(g.out_channels, g.in_channels, g), bias, images_out(samples),
                            window.strides, window.dilation, window.pad_low, window.pad_high),
                        user_scratchpad(), cpu(), describe_forward(samples));
  gradient = dnnl::convolution_backward_weights(*gradient_desc);
  unpack = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), gradient_desc->diff_weights_desc(), cpu(),
                                                       plain_weights(g.out_channels, g.in_channels, g)));
  reserve(*gradient_desc);
}

Convolution::Convolution(const ConvolutionGeometry& geometry, int samples, ConvolutionUse use) try
    : impl_(std::make_unique<Impl>(geometry, samples, use)) {
} catch (const dnnl::error& error) {
  fail("convolution", "oneDNN has no kernel for {} -> {} channels, {}x{} window on {}x{}: {}",
       geometry.in_channels, geometry.out_channels, geometry.kernel_height, geometry.kernel_width,
       geometry.in_height, geometry.in_width, error.what());
}

Convolution::Convolution(Convolution&&) noexcept = default;
Convolution::~Convolution() = default;

void Convolution::pack(const float* weights) {
  const auto& g = impl_->g;
  const Desc plain = plain_weights(g.out_channels, g.in_channels, g);
  reorder(plain, weights, impl_->forward_desc.weights_desc(), impl_->forward_weights.data());
  if (impl_->flipped_desc) {
    AlignedBuffer<float> flipped(static_cast<std::size_t>(g.weight_count()));
    flip_and_transpose(g, weights, flipped.data());
    reorder(plain_weights(g.in_channels, g.out_channels, g), flipped.data(),
            impl_->flipped_desc->weights_desc(), impl_->backward_weights.data());
  } else if (impl_->backward_desc) {
    reorder(plain, weights, impl_->backward_desc->weights_desc(), impl_->backward_weights.data());
  }
}

std::size_t Convolution::scratch_floats() const {
  return impl_->pixel_floats() + impl_->scratch;
}

void Convolution::forward(const float* input, const float* bias, float* output, float* scratch) const {
  SingleThreadScope single;
  const auto& desc = impl_->forward_desc;
  const float* pixels = impl_->taken_pixels(input, scratch);
  scratch += impl_->pixel_floats();
  for_runs(impl_->samples, desc.src_desc(), [&](int first) {
    std::unordered_map<int, memory> arguments{
        {DNNL_ARG_SRC, view(desc.src_desc(), pixels + first * impl_->input_size())},
        {DNNL_ARG_WEIGHTS, view(desc.weights_desc(), impl_->forward_weights.data())},
        {DNNL_ARG_DST, view(desc.dst_desc(), output + first * impl_->output_size())},
        {DNNL_ARG_SCRATCHPAD, view(desc.scratchpad_desc(), scratch)}};
    if (impl_->use.bias) arguments.emplace(DNNL_ARG_BIAS, view(impl_->bias, bias));
    impl_->forward.execute(stream(), arguments);
  });
  if (impl_->use.clamp && !impl_->clamps)
    clamp_all(*impl_->use.clamp, impl_->samples * impl_->output_size(), output);
}

void Convolution::Impl::run_input_gradient(const float* output_gradient, float* input_gradient,
                                           float* scratchpad) const {
  if (flipped_desc) {
    for_runs(samples, flipped_desc->src_desc(), [&](int first) {
      flipped.execute(
          stream(), {{DNNL_ARG_SRC, view(flipped_desc->src_desc(), output_gradient + first * output_size())},
                     {DNNL_ARG_WEIGHTS, view(flipped_desc->weights_desc(), backward_weights.data())},
                     {DNNL_ARG_DST, view(flipped_desc->dst_desc(), input_gradient + first * input_size())},
                     {DNNL_ARG_SCRATCHPAD, view(flipped_desc->scratchpad_desc(), scratchpad)}});
    });
    return;
  }
  LWSVM_CHECK(backward_desc.has_value());
  for_runs(samples, backward_desc->diff_src_desc(), [&](int first) {
    backward.execute(
        stream(),
        {{DNNL_ARG_DIFF_DST, view(backward_desc->diff_dst_desc(), output_gradient + first * output_size())},
         {DNNL_ARG_WEIGHTS, view(backward_desc->weights_desc(), backward_weights.data())},
         {DNNL_ARG_DIFF_SRC, view(backward_desc->diff_src_desc(), input_gradient + first * input_size())},
         {DNNL_ARG_SCRATCHPAD, view(backward_desc->scratchpad_desc(), scratchpad)}});
  });
}

void Convolution::input_gradient(const float* output_gradient, float* input_gradient, float* scratch) const {
  SingleThreadScope single;
  float* pixels = impl_->single_pixels ? scratch : input_gradient;
  impl_->run_input_gradient(output_gradient, pixels, scratch + impl_->pixel_floats());
  if (impl_->single_pixels) impl_->spread_pixels(pixels, input_gradient);
}

std::size_t Convolution::packed_gradient_floats() const {
  return impl_->gradient_desc ? floats(impl_->gradient_desc->diff_weights_desc()) : 0;
}

void Convolution::weight_gradient(const float* input, const float* output_gradient, float* packed_weights,
                                  float* bias, float* scratch) const {
  SingleThreadScope single;
  LWSVM_CHECK(impl_->gradient_desc.has_value());
  const auto& desc = *impl_->gradient_desc;
  const float* pixels = impl_->taken_pixels(input, scratch);
  scratch += impl_->pixel_floats();
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, view(desc.src_desc(), pixels)},
      {DNNL_ARG_DIFF_DST, view(desc.diff_dst_desc(), output_gradient)},
      {DNNL_ARG_DIFF_WEIGHTS, view(desc.diff_weights_desc(), packed_weights)},
      {DNNL_ARG_SCRATCHPAD, view(desc.scratchpad_desc(), scratch)}};
  if (impl_->use.bias) arguments.emplace(DNNL_ARG_DIFF_BIAS, view(impl_->bias, bias));
  impl_->gradient.execute(stream(), arguments);
}

void Convolution::unpack_gradient(const float* packed_weights, float* weights) const {
  SingleThreadScope single;
  const auto& g = impl_->g;
  memory packed = view(impl_->gradient_desc->diff_weights_desc(), packed_weights);
  memory plain = view(plain_weights(g.out_channels, g.in_channels, g), weights);
  impl_->unpack.execute(stream(), packed, plain);
}

std::string Convolution::implementations() const {
  std::string text = impl_->forward_desc.impl_info_str();
  if (impl_->flipped_desc) text += fmt::format(", flipped {}", impl_->flipped_desc->impl_info_str());
  if (impl_->backward_desc) text += fmt::format(", backward {}", impl_->backward_desc->impl_info_str());
  if (impl_->gradient_desc) text += fmt::format(", gradient {}", impl_->gradient_desc->impl_info_str());
  return text;
}

}  // namespace lwsvm
