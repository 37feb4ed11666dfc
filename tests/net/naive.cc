#include "naive.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/frozen_layers.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"
#include "net/layers/smooth_layers.h"
#include "net/layers/softmax_layer.h"

namespace lwsvm::naive {
namespace {

using Inputs = std::vector<const Tensor*>;

class Kinks {
 public:
  explicit Kinks(double& nearest) : nearest_(nearest) {}
  void at(double distance) {
    if (distance != 0) nearest_ = std::min(nearest_, std::abs(distance));
  }
  // The best of several values: the runner-up is where the piece would change.
  double best(std::vector<double> values, bool minimum = false) {
    if (values.empty()) throw std::logic_error("a window of nothing");
    std::sort(values.begin(), values.end());
    if (!minimum) std::reverse(values.begin(), values.end());
    for (double value : values)
      if (value != values[0]) {
        at(value - values[0]);
        break;
      }
    return values[0];
  }

 private:
  double& nearest_;
};

// The number of windows, by laying them one after the other.
std::int64_t count_windows(std::int64_t in, std::int64_t window, std::int64_t stride, std::int64_t dilation,
                           std::int64_t low, std::int64_t high, bool ceil_mode) {
  std::int64_t count = 0;
  for (std::int64_t start = -low;; start += stride) {
    const std::int64_t last_tap = start + (window - 1) * dilation;
    const bool fits = last_tap < in + high;
    const bool hangs_over =
        ceil_mode && start < in && count > 0 && start - stride + (window - 1) * dilation + 1 < in + high;
    if (!fits && !hangs_over) return count;
    ++count;
  }
}

Shape window_shape(const Shape& in, std::int64_t channels, const WindowSpec& w) {
  return {
      channels,
      count_windows(in[1], w.height, w.stride_height, w.dilation_height, w.pad_top, w.pad_bottom,
                    w.ceil_mode),
      count_windows(in[2], w.width, w.stride_width, w.dilation_width, w.pad_left, w.pad_right, w.ceil_mode)};
}

template <typename Visit>
void for_each_pixel(const Tensor& t, const Visit& visit) {
  for (std::int64_t n = 0; n < t.samples; ++n)
    for (std::int64_t c = 0; c < t.shape[0]; ++c)
      for (std::int64_t h = 0; h < t.shape[1]; ++h)
        for (std::int64_t w = 0; w < t.shape[2]; ++w) visit(n, c, h, w);
}

// visit(kh, kw, h, w) for every tap of the window at (oh, ow), inside the image or not.
template <typename Visit>
void for_each_tap(const WindowSpec& w, std::int64_t oh, std::int64_t ow, const Visit& visit) {
  for (std::int64_t kh = 0; kh < w.height; ++kh)
    for (std::int64_t kw = 0; kw < w.width; ++kw)
      visit(kh, kw, oh * w.stride_height - w.pad_top + kh * w.dilation_height,
            ow * w.stride_width - w.pad_left + kw * w.dilation_width);
}

Tensor convolution(const ConvolutionSpec& spec, const Tensor& x, const double* p) {
  Tensor y(window_shape(x.shape, spec.out_channels, spec.window), x.samples);
  const std::int64_t in = spec.in_channels / spec.groups, out = spec.out_channels / spec.groups;
  const WindowSpec& window = spec.window;
  const double* bias = p + spec.out_channels * in * window.height * window.width;
  for_each_pixel(y, [&](std::int64_t n, std::int64_t o, std::int64_t oh, std::int64_t ow) {
    double sum = spec.bias ? bias[o] : 0;
    for (std::int64_t i = 0; i < in; ++i)
      for_each_tap(window, oh, ow, [&](std::int64_t kh, std::int64_t kw, std::int64_t h, std::int64_t w) {
        if (x.inside(h, w))
          sum +=
              p[((o * in + i) * window.height + kh) * window.width + kw] * x.pixel(n, o / out * in + i, h, w);
      });
    y.pixel(n, o, oh, ow) = sum;
  });
  return y;
}

Tensor max_pool(const WindowSpec& window, const Tensor& x, Kinks& kinks) {
  Tensor y(window_shape(x.shape, x.shape[0], window), x.samples);
  for_each_pixel(y, [&](std::int64_t n, std::int64_t c, std::int64_t oh, std::int64_t ow) {
    std::vector<double> seen;
    for_each_tap(window, oh, ow, [&](std::int64_t, std::int64_t, std::int64_t h, std::int64_t w) {
      if (x.inside(h, w)) seen.push_back(x.pixel(n, c, h, w));
    });
    y.pixel(n, c, oh, ow) = kinks.best(seen);
  });
  return y;
}

Tensor average_pool(const AveragePoolLayer& layer, const Tensor& x) {
  const WindowSpec& window = layer.window();
  Tensor y(window_shape(x.shape, x.shape[0], window), x.samples);
  for_each_pixel(y, [&](std::int64_t n, std::int64_t c, std::int64_t oh, std::int64_t ow) {
    double sum = 0, counted = 0;
    for_each_tap(window, oh, ow, [&](std::int64_t, std::int64_t, std::int64_t h, std::int64_t w) {
      if (x.inside(h, w)) sum += x.pixel(n, c, h, w);
      const bool padded = h < x.shape[1] + window.pad_bottom && w < x.shape[2] + window.pad_right;
      if (x.inside(h, w) || (layer.count_padding() && padded)) ++counted;
    });
    y.pixel(n, c, oh, ow) = sum / counted;
  });
  return y;
}

Tensor sum_pool(const WindowSpec& window, const Tensor& x) {
  Tensor y(window_shape(x.shape, x.shape[0], window), x.samples);
  for_each_pixel(y, [&](std::int64_t n, std::int64_t c, std::int64_t oh, std::int64_t ow) {
    for_each_tap(window, oh, ow, [&](std::int64_t, std::int64_t, std::int64_t h, std::int64_t w) {
      if (x.inside(h, w)) y.pixel(n, c, oh, ow) += x.pixel(n, c, h, w);
    });
  });
  return y;
}

Tensor global_pool(bool maximum, const Tensor& x, Kinks& kinks) {
  Tensor y({x.shape[0], 1, 1}, x.samples);
  for_each_pixel(y, [&](std::int64_t n, std::int64_t c, std::int64_t, std::int64_t) {
    std::vector<double> seen;
    double sum = 0;
    for (std::int64_t h = 0; h < x.shape[1]; ++h)
      for (std::int64_t w = 0; w < x.shape[2]; ++w) {
        seen.push_back(x.pixel(n, c, h, w));
        sum += seen.back();
      }
    y(n, c) = maximum ? kinks.best(seen) : sum / static_cast<double>(seen.size());
  });
  return y;
}

Tensor batch_norm(const BatchNormLayer& layer, const Tensor& x, const double* p, double* statistics,
                  bool training) {
  Tensor y(x.shape, x.samples);
  const std::int64_t channels = x.shape[0], pixels = x.size() / channels;
  const auto count = static_cast<double>(x.samples * pixels);
  for (std::int64_t c = 0; c < channels; ++c) {
    double mean = statistics[c], variance = statistics[channels + c];
    if (training) {
      mean = variance = 0;
      for (std::int64_t n = 0; n < x.samples; ++n)
        for (std::int64_t i = 0; i < pixels; ++i) mean += x(n, c * pixels + i) / count;
      for (std::int64_t n = 0; n < x.samples; ++n)
        for (std::int64_t i = 0; i < pixels; ++i)
          variance += std::pow(x(n, c * pixels + i) - mean, 2) / count;
      const double momentum = static_cast<double>(layer.momentum());
      const double unbiased = count > 1 ? variance * count / (count - 1) : variance;
      statistics[c] = (1 - momentum) * statistics[c] + momentum * mean;
      statistics[channels + c] = (1 - momentum) * statistics[channels + c] + momentum * unbiased;
    }
    for (std::int64_t n = 0; n < x.samples; ++n)
      for (std::int64_t i = 0; i < pixels; ++i)
        y(n, c * pixels + i) = p[c] * (x(n, c * pixels + i) - mean) /
                                   std::sqrt(variance + static_cast<double>(layer.epsilon())) +
                               p[channels + c];
  }
  return y;
}

// Coordinates of the i-th element of a shape, and back.
Shape coordinates(std::int64_t i, const Shape& shape) {
  Shape at(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0; i /= shape[axis]) at[axis] = i % shape[axis];
  return at;
}

std::int64_t index_of(const Shape& at, const Shape& shape) {
  std::int64_t i = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) i = i * shape[axis] + at[axis];
  return i;
}

// y at coordinates `to` is x at coordinates move(to), or `padding` where those lie outside of x.
template <typename Move>
Tensor moved(const Tensor& x, const Shape& shape, double padding, const Move& move) {
  Tensor y(shape, x.samples);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    const Shape from = move(coordinates(i, shape));
    bool inside = true;
    for (std::size_t axis = 0; axis < from.size(); ++axis)
      inside &= from[axis] >= 0 && from[axis] < x.shape[axis];
    for (std::int64_t n = 0; n < x.samples; ++n) y(n, i) = inside ? x(n, index_of(from, x.shape)) : padding;
  }
  return y;
}

Tensor concat(std::size_t axis, const Inputs& inputs) {
  Shape shape = inputs[0]->shape;
  shape[axis] = 0;
  for (const Tensor* x : inputs) shape[axis] += x->shape[axis];
  Tensor y(shape, inputs[0]->samples);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Shape at = coordinates(i, shape);
    std::size_t k = 0;
    while (at[axis] >= inputs[k]->shape[axis]) at[axis] -= inputs[k++]->shape[axis];
    for (std::int64_t n = 0; n < y.samples; ++n) y(n, i) = (*inputs[k])(n, index_of(at, inputs[k]->shape));
  }
  return y;
}

template <typename Function>
Tensor elementwise(const Tensor& x, const Function& function) {  // function(x, index within the sample)
  Tensor y(x.shape, x.samples);
  for (std::int64_t n = 0; n < x.samples; ++n)
    for (std::int64_t i = 0; i < x.size(); ++i) y(n, i) = function(x(n, i), i);
  return y;
}

// A constant of one value, one per channel, or one per element.
double constant(const std::vector<float>& values, const Tensor& x, std::int64_t i) {
  const auto given = static_cast<std::int64_t>(values.size());
  if (given == 1) return static_cast<double>(values[0]);
  if (given == x.size()) return static_cast<double>(values[static_cast<std::size_t>(i)]);
  return static_cast<double>(values[static_cast<std::size_t>(coordinates(i, x.shape)[0])]);
}

double value_of(const FunctionLayer& layer, double x) {
  const double a = static_cast<double>(layer.a()), b = static_cast<double>(layer.b());
  switch (layer.function()) {
    case lwsvm::Function::elu:
      return x < 0 ? a * (std::exp(x) - 1) : x;
    case lwsvm::Function::selu:
      return x < 0 ? b * (a * std::exp(x) - a) : b * x;
    case lwsvm::Function::celu:
      return std::max(0.0, x) + std::min(0.0, a * (std::exp(x / a) - 1));
    case lwsvm::Function::softplus:
      return std::log(1 + std::exp(x));
    case lwsvm::Function::softsign:
      return x / (1 + std::abs(x));
    case lwsvm::Function::erf:
      return std::erf(x);
    case lwsvm::Function::gelu:
      return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
    case lwsvm::Function::gelu_tanh:
      return x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * std::pow(x, 3)))) / 2;
    case lwsvm::Function::exp:
      return std::exp(x);
    case lwsvm::Function::sqrt:
      return std::sqrt(x);
    case lwsvm::Function::power:
      return std::exp(a * std::log(x));
    case lwsvm::Function::reciprocal:
      return 1 / x;
    case lwsvm::Function::thresholded_relu:
      return x > a ? x : 0;
  }
  return 0;
}

Tensor standardized(const Tensor& x, double epsilon) {  // over the last axis
  Tensor y(x.shape, x.samples);
  const std::int64_t size = x.shape.back();
  for (std::int64_t n = 0; n < x.samples; ++n)
    for (std::int64_t row = 0; row < x.size(); row += size) {
      double mean = 0, variance = 0;
      for (std::int64_t i = row; i < row + size; ++i) mean += x(n, i) / static_cast<double>(size);
      for (std::int64_t i = row; i < row + size; ++i)
        variance += (x(n, i) - mean) * (x(n, i) - mean) / static_cast<double>(size);
      for (std::int64_t i = row; i < row + size; ++i)
        y(n, i) = (x(n, i) - mean) / std::sqrt(variance + epsilon);
    }
  return y;
}

Tensor resized(const Tensor& x, const ResizeLayer& layer) {  // axis by axis
  Tensor now = x;
  for (std::size_t axis = 0; axis < layer.axes().size(); ++axis) {
    Shape shape = now.shape;
    shape[axis] = std::ssize(layer.axes()[axis]);
    std::int64_t inner = 1;
    for (std::size_t k = axis + 1; k < shape.size(); ++k) inner *= shape[k];
    Tensor next(shape, x.samples);
    for (std::int64_t n = 0; n < x.samples; ++n)
      for (std::int64_t i = 0; i < next.size(); ++i) {
        const std::int64_t outer = i / inner / shape[axis], p = i / inner % shape[axis];
        for (const auto& tap : layer.axes()[axis][static_cast<std::size_t>(p)])
          next(n, i) += static_cast<double>(tap.weight) *
                        now(n, (outer * now.shape[axis] + tap.element) * inner + i % inner);
      }
    now = std::move(next);
  }
  return now;
}

Tensor softmax(const Tensor& x, bool logarithm) {  // over the last axis
  Tensor y(x.shape, x.samples);
  const std::int64_t size = x.shape.back();
  for (std::int64_t n = 0; n < x.samples; ++n)
    for (std::int64_t row = 0; row < x.size(); row += size) {
      double sum = 0;
      for (std::int64_t i = row; i < row + size; ++i) sum += std::exp(x(n, i));
      for (std::int64_t i = row; i < row + size; ++i)
        y(n, i) = logarithm ? x(n, i) - std::log(sum) : std::exp(x(n, i)) / sum;
    }
  return y;
}

Tensor response_norm(const Tensor& x, const ResponseNormLayer& l) {
  Tensor y(x.shape, x.samples);
  const std::int64_t pixels = x.shape[1] * x.shape[2];
  const double alpha = l.alpha(), beta = l.beta(), bias = l.bias();
  for_each_pixel(x, [&](std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
    const std::int64_t pixel = h * x.shape[2] + w;
    double sum = 0;  // floor((size - 1) / 2) channels before, ceil((size - 1) / 2) after
    for (std::int64_t j = c - (l.size() - 1) / 2; j <= c + l.size() / 2; ++j)
      if (j >= 0 && j < x.shape[0]) sum += x(n, j * pixels + pixel) * x(n, j * pixels + pixel);
    const double base = bias + alpha / static_cast<double>(l.size()) * sum;
    y(n, c * pixels + pixel) = x(n, c * pixels + pixel) / std::pow(base, beta);
  });
  return y;
}

Tensor reshaped(const Tensor& x, const Shape& shape) {
  Tensor y = x;
  y.shape = shape;
  return y;
}

template <typename L>
const L* as(const Node& node) {
  return dynamic_cast<const L*>(node.layer.get());
}

Tensor evaluate(const Node& node, const Inputs& in, const double* p, double* statistics, bool training,
                Kinks& kinks) {
  const Tensor& x = *in[0];
  if (const auto* l = as<ConvolutionLayer>(node)) return convolution(l->spec(), x, p);
  if (const auto* l = as<DenseLayer>(node)) {
    Tensor y({l->out_features()}, x.samples);
    for (std::int64_t n = 0; n < x.samples; ++n)
      for (std::int64_t o = 0; o < l->out_features(); ++o) {
        y(n, o) = l->has_bias() ? p[l->in_features() * l->out_features() + o] : 0;
        for (std::int64_t i = 0; i < x.size(); ++i) y(n, o) += p[o * x.size() + i] * x(n, i);
      }
    return y;
  }
  if (as<ReluLayer>(node))
    return elementwise(x, [&](double v, std::int64_t) {
      kinks.at(v);
      return std::max(v, 0.0);
    });
  if (const auto* l = as<LeakyReluLayer>(node))
    return elementwise(x, [&](double v, std::int64_t) {
      kinks.at(v);
      return v > 0 ? v : v * static_cast<double>(l->slope());
    });
  if (const auto* l = as<PReluLayer>(node))
    return elementwise(x, [&](double v, std::int64_t i) {
      kinks.at(v);
      return v > 0 ? v : v * p[l->slopes() == 1 ? 0 : coordinates(i, x.shape)[0]];
    });
  if (const auto* l = as<ClipLayer>(node))
    return elementwise(x, [&](double v, std::int64_t) {
      const double low = static_cast<double>(l->low()), high = static_cast<double>(l->high());
      kinks.at(v - low);
      kinks.at(v - high);
      return std::min(std::max(v, low), high);
    });
  if (as<AbsLayer>(node))
    return elementwise(x, [&](double v, std::int64_t) {
      kinks.at(v);
      return std::abs(v);
    });
  if (const auto* l = as<MaximumLayer>(node)) {
    Tensor y(x.shape, x.samples);
    for (std::int64_t n = 0; n < x.samples; ++n)
      for (std::int64_t i = 0; i < x.size(); ++i) {
        std::vector<double> candidates;
        for (const Tensor* input : in) candidates.push_back((*input)(n, i));
        y(n, i) = kinks.best(candidates, l->minimum());
      }
    return y;
  }
  if (const auto* l = as<MaxPoolLayer>(node)) return max_pool(l->window(), x, kinks);
  if (const auto* l = as<AveragePoolLayer>(node)) return average_pool(*l, x);
  if (const auto* l = as<SumPoolLayer>(node)) return sum_pool(l->window(), x);
  if (const auto* l = as<GlobalPoolLayer>(node))
    return global_pool(l->reduction() == GlobalPoolLayer::Reduction::maximum, x, kinks);
  if (const auto* l = as<BatchNormLayer>(node)) return batch_norm(*l, x, p, statistics, training);
  if (as<AddLayer>(node) || as<SubtractLayer>(node)) {
    Tensor y = x;
    for (std::size_t k = 1; k < in.size(); ++k)
      for (std::size_t i = 0; i < y.values.size(); ++i)
        y.values[i] += as<AddLayer>(node) ? in[k]->values[i] : -in[k]->values[i];
    return y;
  }
  if (const auto* l = as<ConcatLayer>(node)) return concat(static_cast<std::size_t>(l->axis()), in);
  if (const auto* l = as<AffineLayer>(node))
    return elementwise(x, [&](double v, std::int64_t i) {
      return v * constant(l->scale(), x, i) + constant(l->offset(), x, i);
    });
  if (const auto* l = as<NormalizeLayer>(node))
    return elementwise(x, [&](double v, std::int64_t i) {
      return (v - constant(l->mean(), x, i)) / constant(l->deviation(), x, i);
    });
  if (as<FlattenLayer>(node)) return reshaped(x, {x.size()});
  if (const auto* l = as<ReshapeLayer>(node)) {
    Shape shape = l->target();
    for (std::int64_t& size : shape)
      if (size == -1) size = -x.size() / element_count(l->target());
    return reshaped(x, shape);
  }
  if (const auto* l = as<TransposeLayer>(node)) {
    Shape shape;
    for (std::int64_t axis : l->order()) shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
    return moved(x, shape, 0, [&](const Shape& to) {
      Shape from(to.size());
      for (std::size_t axis = 0; axis < to.size(); ++axis)
        from[static_cast<std::size_t>(l->order()[axis])] = to[axis];
      return from;
    });
  }
  if (const auto* l = as<PadLayer>(node)) {
    Shape shape = x.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      shape[axis] += l->before()[axis] + l->after()[axis];
    return moved(x, shape, static_cast<double>(l->value()), [&](Shape at) {
      for (std::size_t axis = 0; axis < at.size(); ++axis) at[axis] -= l->before()[axis];
      return at;
    });
  }
  if (const auto* l = as<SliceLayer>(node))
    return moved(x, l->count(), 0, [&](Shape at) {
      for (std::size_t axis = 0; axis < at.size(); ++axis)
        at[axis] = l->start()[axis] + l->step()[axis] * at[axis];
      return at;
    });
  if (const auto* l = as<DropoutLayer>(node)) {
    if (training && l->rate() != 0) throw std::logic_error("dropout in training is random");
    return x;
  }
  if (const auto* l = as<SoftmaxLayer>(node)) return softmax(x, l->logarithm());
  if (as<SigmoidLayer>(node))
    return elementwise(x, [](double v, std::int64_t) { return 1 / (1 + std::exp(-v)); });
  if (as<LogLayer>(node)) return elementwise(x, [](double v, std::int64_t) { return std::log(v); });
  if (as<TanhLayer>(node))
    return elementwise(x, [](double v, std::int64_t) {
      return (std::exp(v) - std::exp(-v)) / (std::exp(v) + std::exp(-v));
    });
  if (as<ProductLayer>(node)) {
    Tensor y = x;
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] *= in[1]->values[i];
    return y;
  }
  if (const auto* l = as<ResponseNormLayer>(node)) return response_norm(x, *l);
  if (const auto* l = as<FunctionLayer>(node))
    return elementwise(x, [&](double v, std::int64_t) {
      if (l->function() == lwsvm::Function::thresholded_relu) kinks.at(v - static_cast<double>(l->a()));
      return value_of(*l, v);
    });
  if (as<QuotientLayer>(node)) {
    Tensor y = x;
    for (std::size_t i = 0; i < y.values.size(); ++i) y.values[i] /= in[1]->values[i];
    return y;
  }
  if (const auto* l = as<StandardizeLayer>(node)) return standardized(x, static_cast<double>(l->epsilon()));
  if (const auto* l = as<ResizeLayer>(node)) return resized(x, *l);
  throw std::logic_error("no naive " + std::string(to_string(node.layer->kind())));
}

}  // namespace

Run run(const Graph& graph, const Setting& setting) {
  Run run;
  run.statistics = setting.statistics;
  Kinks kinks(run.kink);
  std::size_t next_input = 0;
  run.values.reserve(graph.nodes().size());
  for (const Node& node : graph.nodes()) {
    if (node.is_input()) {
      run.values.push_back(setting.inputs[next_input++]);
      continue;
    }
    Inputs inputs;
    for (int input : node.inputs) inputs.push_back(&run.values[static_cast<std::size_t>(input)]);
    run.values.push_back(evaluate(node, inputs, setting.parameters.data() + node.trained.begin,
                                  run.statistics.data() + node.statistics.begin, setting.training, kinks));
  }
  return run;
}

}  // namespace lwsvm::naive
