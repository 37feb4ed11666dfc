// A network with a layer of every kind that solvers must know about, for images of 10 x 10 in three classes.
#pragma once

#include <algorithm>
#include <memory>

#include "base/random.h"
#include "net/graph.h"
#include "net/layers/activations.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {

inline Graph small_net(bool batch_norm) {
  Graph graph;
  int at = graph.add_input("input", {1, 10, 10});
  ConvolutionSpec spec;
  spec.in_channels = 1;
  spec.out_channels = 4;
  spec.window.height = spec.window.width = 3;
  spec.window.pad_top = spec.window.pad_left = spec.window.pad_bottom = spec.window.pad_right = 1;
  at = graph.add("conv", std::make_shared<ConvolutionLayer>(spec), {at});
  if (batch_norm) at = graph.add("bn", std::make_shared<BatchNormLayer>(4), {at});
  at = graph.add("relu", std::make_shared<ReluLayer>(), {at});
  WindowSpec pool;
  pool.height = pool.width = pool.stride_height = pool.stride_width = 2;
  at = graph.add("pool", std::make_shared<MaxPoolLayer>(pool), {at});
  at = graph.add("dropout", std::make_shared<DropoutLayer>(0.1f), {at});
  at = graph.add("flatten", std::make_shared<FlattenLayer>(), {at});
  graph.add("svm", std::make_shared<DenseLayer>(100, 3), {at});
  Random random(4);
  for (float& w : graph.parameters()) w = static_cast<float>(0.2 * random.normal());
  if (batch_norm) std::fill(graph.statistics().begin() + 4, graph.statistics().end(), 1.0f);
  return graph;
}

}  // namespace lwsvm
