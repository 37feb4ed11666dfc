#include "net/layer_kind.h"

#include <array>
#include <cstddef>

namespace lwsvm {
namespace {

struct KindName {
  LayerKind kind;
  std::string_view name;
};

constexpr auto kKindNames = std::to_array<KindName>({
    {LayerKind::abs, "Abs"},
    {LayerKind::add, "Add"},
    {LayerKind::affine, "Affine"},
    {LayerKind::arg_max, "ArgMax"},
    {LayerKind::average_pool, "AveragePool"},
    {LayerKind::batch_norm, "BatchNorm"},
    {LayerKind::celu, "Celu"},
    {LayerKind::clip, "Clip"},
    {LayerKind::concat, "Concat"},
    {LayerKind::conv, "Conv"},
    {LayerKind::dense, "Dense"},
    {LayerKind::div, "Div"},
    {LayerKind::dropout, "Dropout"},
    {LayerKind::elu, "Elu"},
    {LayerKind::erf, "Erf"},
    {LayerKind::exp, "Exp"},
    {LayerKind::flatten, "Flatten"},
    {LayerKind::gelu, "Gelu"},
    {LayerKind::global_average_pool, "GlobalAveragePool"},
    {LayerKind::global_max_pool, "GlobalMaxPool"},
    {LayerKind::lrn, "LRN"},
    {LayerKind::leaky_relu, "LeakyRelu"},
    {LayerKind::log, "Log"},
    {LayerKind::log_softmax, "LogSoftmax"},
    {LayerKind::max, "Max"},
    {LayerKind::max_pool, "MaxPool"},
    {LayerKind::min, "Min"},
    {LayerKind::mul, "Mul"},
    {LayerKind::normalize, "Normalize"},
    {LayerKind::prelu, "PRelu"},
    {LayerKind::pad, "Pad"},
    {LayerKind::pow, "Pow"},
    {LayerKind::reciprocal, "Reciprocal"},
    {LayerKind::relu, "Relu"},
    {LayerKind::reshape, "Reshape"},
    {LayerKind::resize, "Resize"},
    {LayerKind::selu, "Selu"},
    {LayerKind::sigmoid, "Sigmoid"},
    {LayerKind::slice, "Slice"},
    {LayerKind::softmax, "Softmax"},
    {LayerKind::softplus, "Softplus"},
    {LayerKind::softsign, "Softsign"},
    {LayerKind::sqrt, "Sqrt"},
    {LayerKind::standardize, "Standardize"},
    {LayerKind::sub, "Sub"},
    {LayerKind::sum_pool, "SumPool"},
    {LayerKind::tanh, "Tanh"},
    {LayerKind::thresholded_relu, "ThresholdedRelu"},
    {LayerKind::transpose, "Transpose"},
});

constexpr bool in_order() {
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    if (static_cast<std::size_t>(kKindNames[i].kind) != i) return false;
  return true;
}
static_assert(in_order(), "one name for each kind, in the order of the enumeration");

}  // namespace

std::string_view to_string(LayerKind kind) {
  return kKindNames.at(static_cast<std::size_t>(kind)).name;
}

}  // namespace lwsvm
