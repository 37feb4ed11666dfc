// The kinds of layers. Whatever depends on the kind and is not the layer's own business (its form in ONNX
// files, its convex and concave parts) is looked up in a table by this.
#pragma once

#include <string_view>

namespace lwsvm {

enum class LayerKind {
  abs,
  add,
  affine,
  arg_max,
  average_pool,
  batch_norm,
  celu,
  clip,
  concat,
  conv,
  dense,
  div,
  dropout,
  elu,
  erf,
  exp,
  flatten,
  gelu,
  global_average_pool,
  global_max_pool,
  lrn,
  leaky_relu,
  log,
  log_softmax,
  max,
  max_pool,
  min,
  mul,
  normalize,
  prelu,
  pad,
  pow,
  reciprocal,
  relu,
  reshape,
  resize,
  selu,
  sigmoid,
  slice,
  softmax,
  softplus,
  softsign,
  sqrt,
  standardize,
  sub,
  sum_pool,
  tanh,
  thresholded_relu,
  transpose,
};

std::string_view to_string(LayerKind kind);  // "Conv"; ONNX's name where there is one

}  // namespace lwsvm
