#include "lwsvm/open_layer.h"

#include <algorithm>

#include "base/error.h"
#include "engine/gemm.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"

namespace lwsvm {

std::vector<float> weights_of(const Graph& network, int node) {
  const auto begin = network.parameters().begin() + network.node(node).trained.begin;
  return {begin, begin + network.node(node).trained.size};
}

OpenLayer::OpenLayer(const Graph& network, int node_index, int samples) : samples_(samples) {
  const Node& node = network.node(node_index);
  const Shape& input = network.node(node.inputs[0]).shape;
  input_size_ = element_count(input);
  output_size_ = element_count(node.shape);
  dimension_ = node.trained.size;
  weight_count_ = node.parameters[0].range.size;
  has_bias_ = dimension_ > weight_count_;
  if (const auto* layer = dynamic_cast<const ConvolutionLayer*>(node.layer.get())) {
    convolution_ = open_convolution(*layer, input, node.shape, samples);
  } else {
    LWSVM_CHECK(dynamic_cast<const DenseLayer*>(node.layer.get()) != nullptr);
  }
}

std::size_t OpenLayer::scratch_floats() const {
  return dense() ? 0 : convolution_->scratch_floats();
}

void OpenLayer::load(std::span<const float> w) {
  LWSVM_CHECK(static_cast<std::int64_t>(w.size()) == dimension_);
  w_.assign(w.begin(), w.end());
  if (convolution_) convolution_->load(w_.data());
}

void OpenLayer::forward(const float* inputs, int samples, float* outputs, float* scratch) const {
  if (convolution_) {
    LWSVM_CHECK(samples == samples_);
    convolution_->forward(inputs, outputs, scratch);
    return;
  }
  const float* bias = w_.data() + weight_count_;
  if (has_bias_)
    for (int i = 0; i < samples; ++i) std::copy_n(bias, output_size_, outputs + i * output_size_);
  gemm_per_sample(Transpose::yes, samples, output_size_, input_size_, inputs, w_.data(),
                  has_bias_ ? 1.0f : 0.0f, outputs);
}

void OpenLayer::slope_rows(const float* inputs, const float* output_slopes, std::size_t count, float* rows,
                           float* scratch) const {
  LWSVM_CHECK(!dense());
  convolution_->slope_rows(inputs, output_slopes, static_cast<int>(count), rows, scratch);
}

}  // namespace lwsvm
