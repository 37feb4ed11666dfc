#include "net/layers/shape_layers.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace lwsvm {
namespace {

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(const CompileRequest& request) : count_(request.samples * request.output.size()) {}

  void forward(const ForwardArgs& args) const override {
    if (args.output != args.inputs[0]) std::copy_n(args.inputs[0], count_, args.output);
  }
  void backward(const BackwardArgs& args) const override {
    if (args.input_gradients[0] && args.input_gradients[0] != args.output_gradient)
      std::copy_n(args.output_gradient, count_, args.input_gradients[0]);
  }
  bool in_place() const override { return true; }

 private:
  std::int64_t count_;
};

// out[i] = source[i] < 0 ? value : in[source[i]], for every sample: any transpose, pad or slice.
class GatherKernel final : public Kernel {
 public:
  GatherKernel(std::int64_t samples, std::int64_t in_size, std::vector<std::int32_t> source, float value)
      : samples_(samples), in_size_(in_size), source_(std::move(source)), value_(value) {}

  void forward(const ForwardArgs& args) const override {
    const auto out_size = static_cast<std::int64_t>(source_.size());
    for (std::int64_t n = 0; n < samples_; ++n) {
      const float* in = args.inputs[0] + n * in_size_;
      float* out = args.output + n * out_size;
      for (std::int64_t i = 0; i < out_size; ++i) {
        const std::int32_t from = source_[static_cast<std::size_t>(i)];
        out[i] = from < 0 ? value_ : in[from];
      }
    }
  }

  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    const auto out_size = static_cast<std::int64_t>(source_.size());
    std::fill_n(args.input_gradients[0], samples_ * in_size_, 0.0f);
    for (std::int64_t n = 0; n < samples_; ++n) {
      float* in = args.input_gradients[0] + n * in_size_;
      const float* out = args.output_gradient + n * out_size;
      for (std::int64_t i = 0; i < out_size; ++i) {
        const std::int32_t from = source_[static_cast<std::size_t>(i)];
        if (from >= 0) in[from] += out[i];
      }
    }
  }

 private:
  std::int64_t samples_, in_size_;
  std::vector<std::int32_t> source_;
  float value_;
};

// Where each element (given by its coordinates) of a sample lies in memory.
class Addresses {
 public:
  explicit Addresses(const TensorSpec& spec) : shape_(spec.shape), stride_(spec.shape.size(), 1) {
    std::vector<std::size_t> order;  // outermost first
    for (std::size_t i = 0; i < shape_.size(); ++i) order.push_back(i);
    if (spec.layout == Layout::channels_last && shape_.size() == 3) order = {1, 2, 0};
    std::int64_t step = 1;
    for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
      stride_[*axis] = step;
      step *= shape_[*axis];
    }
  }

  std::int64_t of(const Shape& at) const {
    std::int64_t address = 0;
    for (std::size_t i = 0; i < at.size(); ++i) address += at[i] * stride_[i];
    return address;
  }

  template <typename Visit>
  void for_each(const Visit& visit) const {
    Shape at(shape_.size(), 0);
    for (std::int64_t left = element_count(shape_); left > 0; --left) {
      visit(at);
      for (std::size_t axis = shape_.size(); axis-- > 0;) {
        if (++at[axis] < shape_[axis]) break;
        at[axis] = 0;
      }
    }
  }

 private:
  Shape shape_, stride_;
};

// locate(output coordinates, input coordinates) -> false where the output is padding
template <typename Locate>
std::unique_ptr<Kernel> gather_kernel(const CompileRequest& request, float value, const Locate& locate) {
  const Addresses in(request.inputs[0]), out(request.output);
  std::vector<std::int32_t> source(static_cast<std::size_t>(request.output.size()), -1);
  Shape from(request.inputs[0].shape.size(), 0);
  out.for_each([&](const Shape& at) {
    if (locate(at, from))
      source[static_cast<std::size_t>(out.of(at))] = static_cast<std::int32_t>(in.of(from));
  });
  return std::make_unique<GatherKernel>(request.samples, request.inputs[0].size(), std::move(source), value);
}

// out[i] = sum over its taps of weight * in[source].
class WeightedGatherKernel final : public Kernel {
 public:
  struct Tap {
    std::int32_t source;
    float weight;
  };

  // begin: of each output's taps, and their end.
  WeightedGatherKernel(std::int64_t samples, std::int64_t in_size, std::vector<std::int64_t> begin,
                       std::vector<Tap> taps)
      : samples_(samples), in_size_(in_size), begin_(std::move(begin)), taps_(std::move(taps)) {}

  void forward(const ForwardArgs& args) const override {
    for_each([&](std::int64_t n, std::size_t i, std::int64_t out) {
      float sum = 0;
      for (std::int64_t k = begin_[i]; k < begin_[i + 1]; ++k) {
        const Tap& tap = taps_[static_cast<std::size_t>(k)];
        sum += tap.weight * args.inputs[0][n * in_size_ + tap.source];
      }
      args.output[out] = sum;
    });
  }
  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    std::fill_n(args.input_gradients[0], samples_ * in_size_, 0.0f);
    for_each([&](std::int64_t n, std::size_t i, std::int64_t out) {
      for (std::int64_t k = begin_[i]; k < begin_[i + 1]; ++k) {
        const Tap& tap = taps_[static_cast<std::size_t>(k)];
        args.input_gradients[0][n * in_size_ + tap.source] += tap.weight * args.output_gradient[out];
      }
    });
  }

 private:
  template <typename Visit>
  void for_each(const Visit& visit) const {
    const std::size_t size = begin_.size() - 1;
    for (std::int64_t n = 0; n < samples_; ++n)
      for (std::size_t i = 0; i < size; ++i)
        visit(n, i, n * static_cast<std::int64_t>(size) + static_cast<std::int64_t>(i));
  }

  std::int64_t samples_, in_size_;
  std::vector<std::int64_t> begin_;
  std::vector<Tap> taps_;
};

class DropoutKernel final : public Kernel {
 public:
  DropoutKernel(const CompileRequest& request, float rate)
      : count_(request.samples * request.output.size()), rate_(rate), keep_scale_(1.0f / (1.0f - rate)) {}

  void forward(const ForwardArgs& args) const override {
    Random random(args.draw);
    for (std::int64_t i = 0; i < count_; ++i) {
      const bool keep = args.use == PatternUse::replay ? args.pattern[i] != 0
                                                       : random.uniform() >= static_cast<double>(rate_);
      args.pattern[i] = keep;
      args.output[i] = keep ? args.inputs[0][i] * keep_scale_ : 0.0f;
    }
  }
  void backward(const BackwardArgs& args) const override {
    if (!args.input_gradients[0]) return;
    for (std::int64_t i = 0; i < count_; ++i)
      args.input_gradients[0][i] = args.pattern[i] ? args.output_gradient[i] * keep_scale_ : 0.0f;
  }
  std::size_t pattern_bytes() const override { return static_cast<std::size_t>(count_); }
  bool in_place() const override { return true; }

 private:
  std::int64_t count_;
  float rate_, keep_scale_;
};

void check_rank(LayerKind kind, std::size_t given, const Shape& shape) {
  if (given != shape.size())
    fail("net", "{} is made for {} axes, its input {} has {}", to_string(kind), given, to_string(shape),
         shape.size());
}

}  // namespace

Shape ReshapeLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  Shape result = target_;
  std::int64_t known = 1;
  auto open = result.end();
  for (auto size = result.begin(); size != result.end(); ++size) {
    if (*size == -1)
      open = size;
    else
      known *= *size;
  }
  if (open != result.end() && known > 0) *open = element_count(shape) / known;
  if (element_count(result) != element_count(shape))
    fail("net", "cannot reshape {} to {}", to_string(shape), to_string(target_));
  return result;
}

std::unique_ptr<Kernel> ReshapeLayer::compile(const CompileRequest& request) const {
  return std::make_unique<CopyKernel>(request);
}

Shape FlattenLayer::infer(std::span<const Shape> inputs) const {
  return {element_count(only_input(kind(), inputs))};
}

std::unique_ptr<Kernel> FlattenLayer::compile(const CompileRequest& request) const {
  return std::make_unique<CopyKernel>(request);
}

Shape TransposeLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  check_rank(kind(), order_.size(), shape);
  std::vector<std::int64_t> sorted = order_;
  std::sort(sorted.begin(), sorted.end());
  Shape result;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) fail("net", "Transpose needs every axis once");
    result.push_back(shape[static_cast<std::size_t>(order_[i])]);
  }
  return result;
}

std::unique_ptr<Kernel> TransposeLayer::compile(const CompileRequest& request) const {
  return gather_kernel(request, 0.0f, [this](const Shape& at, Shape& from) {
    for (std::size_t i = 0; i < order_.size(); ++i) from[static_cast<std::size_t>(order_[i])] = at[i];
    return true;
  });
}

Shape PadLayer::infer(std::span<const Shape> inputs) const {
  Shape result = only_input(kind(), inputs);
  check_rank(kind(), before_.size(), result);
  check_rank(kind(), after_.size(), result);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] += before_[i] + after_[i];
  return result;
}

std::unique_ptr<Kernel> PadLayer::compile(const CompileRequest& request) const {
  const Shape& in = request.inputs[0].shape;
  return gather_kernel(request, value_, [&](const Shape& at, Shape& from) {
    for (std::size_t i = 0; i < at.size(); ++i) {
      from[i] = at[i] - before_[i];
      if (from[i] < 0 || from[i] >= in[i]) return false;
    }
    return true;
  });
}

Shape SliceLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  check_rank(kind(), start_.size(), shape);
  check_rank(kind(), step_.size(), shape);
  check_rank(kind(), count_.size(), shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t last = start_[i] + step_[i] * (count_[i] - 1);
    if (start_[i] < 0 || start_[i] >= shape[i] || last < 0 || last >= shape[i])
      fail("net", "Slice from {} to {} leaves axis {} of {}", start_[i], last, i, to_string(shape));
  }
  return count_;
}

std::unique_ptr<Kernel> SliceLayer::compile(const CompileRequest& request) const {
  return gather_kernel(request, 0.0f, [this](const Shape& at, Shape& from) {
    for (std::size_t i = 0; i < at.size(); ++i) from[i] = start_[i] + step_[i] * at[i];
    return true;
  });
}

ResizeLayer::ResizeLayer(std::vector<Axis> axes) : axes_(std::move(axes)) {
  for (const Axis& axis : axes_)
    for (const auto& taps : axis)
      if (taps.empty() ||
          std::any_of(taps.begin(), taps.end(), [](const Tap& tap) { return !(tap.weight >= 0); }))
        fail("net", "Resize needs taps for every position, with weights that are not negative");
}

Shape ResizeLayer::infer(std::span<const Shape> inputs) const {
  const Shape& shape = only_input(kind(), inputs);
  check_rank(kind(), axes_.size(), shape);
  Shape result;
  for (std::size_t k = 0; k < axes_.size(); ++k) {
    for (const auto& taps : axes_[k])
      for (const Tap& tap : taps)
        if (tap.element < 0 || tap.element >= shape[k])
          fail("net", "Resize reads element {} of axis {} of {}", tap.element, k, to_string(shape));
    result.push_back(std::ssize(axes_[k]));
  }
  return result;
}

std::unique_ptr<Kernel> ResizeLayer::compile(const CompileRequest& request) const {
  bool picks = true;
  for (const Axis& axis : axes_)
    for (const auto& taps : axis) picks = picks && taps.size() == 1 && taps[0].weight == 1.0f;
  if (picks)
    return gather_kernel(request, 0.0f, [this](const Shape& at, Shape& from) {
      for (std::size_t k = 0; k < at.size(); ++k)
        from[k] = axes_[k][static_cast<std::size_t>(at[k])][0].element;
      return true;
    });

  const Addresses in(request.inputs[0]), out(request.output);
  using KernelTap = WeightedGatherKernel::Tap;
  std::vector<std::vector<KernelTap>> all(static_cast<std::size_t>(request.output.size()));
  out.for_each([&](const Shape& at) {
    Shape from(at.size(), 0);
    std::vector<KernelTap>& taps = all[static_cast<std::size_t>(out.of(at))];
    const auto visit = [&](const auto& self, std::size_t k, float weight) -> void {
      if (k == at.size()) return taps.push_back({static_cast<std::int32_t>(in.of(from)), weight});
      for (const Tap& tap : axes_[k][static_cast<std::size_t>(at[k])]) {
        from[k] = tap.element;
        self(self, k + 1, weight * tap.weight);
      }
    };
    visit(visit, 0, 1.0f);
  });
  std::vector<std::int64_t> begin{0};
  std::vector<KernelTap> flat;
  for (const auto& taps : all) {
    flat.insert(flat.end(), taps.begin(), taps.end());
    begin.push_back(std::ssize(flat));
  }
  return std::make_unique<WeightedGatherKernel>(request.samples, request.inputs[0].size(), std::move(begin),
                                                std::move(flat));
}

ResizeLayer ResizeLayer::repeating(const Shape& from, const Shape& to) {
  std::vector<Axis> axes;
  for (std::size_t k = 0; k < to.size(); ++k) {
    Axis& axis = axes.emplace_back();
    for (std::int64_t p = 0; p < to[k]; ++p) axis.push_back({{from[k] == to[k] ? p : 0, 1.0f}});
  }
  return ResizeLayer(std::move(axes));
}

DropoutLayer::DropoutLayer(float rate) : rate_(rate) {
  if (!(rate >= 0.0f && rate < 1.0f)) fail("net", "Dropout needs a rate in [0, 1), not {}", rate);
}

std::unique_ptr<Kernel> DropoutLayer::compile(const CompileRequest& request) const {
  if (!request.training) return std::make_unique<CopyKernel>(request);
  return std::make_unique<DropoutKernel>(request, rate_);
}

}  // namespace lwsvm
