#include "engine/convolution.h"

#include <dnnl.hpp>

#include <algorithm>
#include <optional>

#include "base/error.h"
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

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

struct Window {
  memory::dims strides, dilation, pad_low, pad_high;
};

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

}  // namespace

struct Convolution::Impl {
  ConvolutionGeometry g;
  ConvolutionUse use;
  Desc input, output, bias;

  dnnl::convolution_forward::primitive_desc forward_desc;
  dnnl::convolution_forward forward;
  AlignedBuffer<float> forward_weights;

  // The gradient to the input: as a forward convolution where it can be, else oneDNN's own.
  std::optional<dnnl::convolution_forward::primitive_desc> flipped_desc;
  dnnl::convolution_forward flipped;
  std::optional<dnnl::convolution_backward_data::primitive_desc> backward_desc;
  dnnl::convolution_backward_data backward;
  AlignedBuffer<float> backward_weights;

  std::optional<dnnl::convolution_backward_weights::primitive_desc> gradient_desc;
  dnnl::convolution_backward_weights gradient;
  dnnl::reorder unpack;  // of the gradient: called once a sample where every sample has its own

  std::size_t scratch = 0;

  Impl(const ConvolutionGeometry& geometry, int samples, ConvolutionUse wanted);
  void make_input_gradient(const Window& window);
  void make_weight_gradient(const Window& window, const dnnl::convolution_forward::primitive_desc& hint);
  dnnl::convolution_forward::primitive_desc hint(const Window& window) const;
  template <typename PrimitiveDesc>
  void reserve(const PrimitiveDesc& desc) {
    scratch = std::max(scratch, floats(desc.scratchpad_desc()));
  }
};

Convolution::Impl::Impl(const ConvolutionGeometry& geometry, int samples, ConvolutionUse wanted)
    : g(geometry), use(wanted) {
  SingleThreadScope single;
  input = Desc({samples, g.in_channels, g.in_height, g.in_width}, kFloat, Tag::nhwc);
  output = Desc({samples, g.out_channels, g.out_height, g.out_width}, kFloat, Tag::nhwc);
  if (use.bias) bias = Desc({g.out_channels}, kFloat, Tag::a);
  const Window window{{g.stride_height, g.stride_width},
                      {g.dilation_height - 1, g.dilation_width - 1},
                      {g.pad_top, g.pad_left},
                      {g.pad_bottom, g.pad_right}};
  forward_desc = hint(window);
  forward = dnnl::convolution_forward(forward_desc);
  forward_weights.resize(floats(forward_desc.weights_desc()));
  reserve(forward_desc);
  if (use.input_gradient) make_input_gradient(window);
  if (use.weight_gradient) make_weight_gradient(window, forward_desc);
}

// One prop_kind for every forward, so that values agree to the bit wherever they are computed.
dnnl::convolution_forward::primitive_desc Convolution::Impl::hint(const Window& window) const {
  return {{dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, input,
           free_weights(g.out_channels, g.in_channels, g), bias, output, window.strides, window.dilation,
           window.pad_low, window.pad_high},
          user_scratchpad(),
          cpu()};
}

void Convolution::Impl::make_input_gradient(const Window& window) {
  const std::int64_t reach_height = g.dilation_height * (g.kernel_height - 1);
  const std::int64_t reach_width = g.dilation_width * (g.kernel_width - 1);
  const memory::dims low{reach_height - g.pad_top, reach_width - g.pad_left};
  const memory::dims high{reach_height - g.pad_bottom, reach_width - g.pad_right};
  const bool flips = g.stride_height == 1 && g.stride_width == 1 && low[0] >= 0 && low[1] >= 0 &&
                     high[0] >= 0 && high[1] >= 0 && g.in_channels / g.groups >= 8;
  if (flips) {
    flipped_desc.emplace(dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference,
                                                         dnnl::algorithm::convolution_direct, output,
                                                         free_weights(g.in_channels, g.out_channels, g),
                                                         input, {1, 1}, window.dilation, low, high),
                         user_scratchpad(), cpu());
    flipped = dnnl::convolution_forward(*flipped_desc);
    backward_weights.resize(floats(flipped_desc->weights_desc()));
    reserve(*flipped_desc);
    return;
  }
  backward_desc.emplace(
      dnnl::convolution_backward_data::desc(dnnl::algorithm::convolution_direct, input,
                                            free_weights(g.out_channels, g.in_channels, g), output,
                                            window.strides, window.dilation, window.pad_low, window.pad_high),
      user_scratchpad(), cpu(), forward_desc);
  backward = dnnl::convolution_backward_data(*backward_desc);
  backward_weights.resize(floats(backward_desc->weights_desc()));
  reserve(*backward_desc);
}

void Convolution::Impl::make_weight_gradient(const Window& window,
                                             const dnnl::convolution_forward::primitive_desc& forward_hint) {
  gradient_desc.emplace(
      dnnl::convolution_backward_weights::desc(
          dnnl::algorithm::convolution_direct, input, free_weights(g.out_channels, g.in_channels, g), bias,
          output, window.strides, window.dilation, window.pad_low, window.pad_high),
      user_scratchpad(), cpu(), forward_hint);
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
  return impl_->scratch;
}

void Convolution::forward(const float* input, const float* bias, float* output, float* scratch) const {
  SingleThreadScope single;
  const auto& desc = impl_->forward_desc;
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, view(impl_->input, input)},
      {DNNL_ARG_WEIGHTS, view(desc.weights_desc(), impl_->forward_weights.data())},
      {DNNL_ARG_DST, view(impl_->output, output)},
      {DNNL_ARG_SCRATCHPAD, view(desc.scratchpad_desc(), scratch)}};
  if (impl_->use.bias) arguments.emplace(DNNL_ARG_BIAS, view(impl_->bias, bias));
  impl_->forward.execute(stream(), arguments);
}

void Convolution::input_gradient(const float* output_gradient, float* input_gradient, float* scratch) const {
  SingleThreadScope single;
  if (impl_->flipped_desc) {
    const auto& desc = *impl_->flipped_desc;
    impl_->flipped.execute(stream(),
                           {{DNNL_ARG_SRC, view(impl_->output, output_gradient)},
                            {DNNL_ARG_WEIGHTS, view(desc.weights_desc(), impl_->backward_weights.data())},
                            {DNNL_ARG_DST, view(impl_->input, input_gradient)},
                            {DNNL_ARG_SCRATCHPAD, view(desc.scratchpad_desc(), scratch)}});
    return;
  }
  LWSVM_CHECK(impl_->backward_desc.has_value());
  const auto& desc = *impl_->backward_desc;
  impl_->backward.execute(stream(),
                          {{DNNL_ARG_DIFF_DST, view(impl_->output, output_gradient)},
                           {DNNL_ARG_WEIGHTS, view(desc.weights_desc(), impl_->backward_weights.data())},
                           {DNNL_ARG_DIFF_SRC, view(impl_->input, input_gradient)},
                           {DNNL_ARG_SCRATCHPAD, view(desc.scratchpad_desc(), scratch)}});
}

std::size_t Convolution::packed_gradient_floats() const {
  return impl_->gradient_desc ? floats(impl_->gradient_desc->diff_weights_desc()) : 0;
}

void Convolution::weight_gradient(const float* input, const float* output_gradient, float* packed_weights,
                                  float* bias, float* scratch) const {
  SingleThreadScope single;
  LWSVM_CHECK(impl_->gradient_desc.has_value());
  const auto& desc = *impl_->gradient_desc;
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, view(impl_->input, input)},
      {DNNL_ARG_DIFF_DST, view(impl_->output, output_gradient)},
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
