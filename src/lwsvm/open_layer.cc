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
    const ConvolutionGeometry geometry = layer->geometry(input, node.shape);
    convolution_ = std::make_unique<Convolution>(geometry, samples, ConvolutionUse{has_bias_, false, false});
    sample_convolution_ = std::make_unique<Convolution>(geometry, 1, ConvolutionUse{has_bias_, false, true});
  } else {
    LWSVM_CHECK(dynamic_cast<const DenseLayer*>(node.layer.get()) != nullptr);
  }
}

OpenLayer::~OpenLayer() = default;

std::size_t OpenLayer::scratch_floats() const {
  if (dense()) return 0;
  return std::max(convolution_->scratch_floats(), sample_convolution_->scratch_floats());
}

void OpenLayer::load(std::span<const float> w) {
  LWSVM_CHECK(static_cast<std::int64_t>(w.size()) == dimension_);
  w_.assign(w.begin(), w.end());
  if (convolution_) convolution_->pack(w_.data());
}

void OpenLayer::forward(const float* inputs, int samples, float* outputs, float* scratch) const {
  const float* bias = w_.data() + weight_count_;
  if (convolution_) {
    LWSVM_CHECK(samples == samples_);
    convolution_->forward(inputs, has_bias_ ? bias : nullptr, outputs, scratch);
    return;
  }
  if (has_bias_)
    for (int i = 0; i < samples; ++i) std::copy_n(bias, output_size_, outputs + i * output_size_);
  gemm_per_sample(Transpose::yes, samples, output_size_, input_size_, inputs, w_.data(),
                  has_bias_ ? 1.0f : 0.0f, outputs);
}

std::size_t OpenLayer::packed_floats() const {
  return dense() ? 0 : sample_convolution_->packed_gradient_floats();
}

void OpenLayer::slope_row(const float* input, const float* output_slope, float* row, float* packed,
                          float* scratch) const {
  LWSVM_CHECK(!dense());
  sample_convolution_->weight_gradient(input, output_slope, packed, row + weight_count_, scratch);
  sample_convolution_->unpack_gradient(packed, row);
}

}  // namespace lwsvm
