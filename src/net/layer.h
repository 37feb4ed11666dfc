// What a layer is, whatever its batch size: its kind, its shapes, its parameters, and whether it is linear.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/clamp.h"
#include "engine/tensor.h"
#include "net/kernel.h"
#include "net/layer_kind.h"

namespace lwsvm {

enum class Linearity { linear, piecewise_linear, neither };
std::string_view to_string(Linearity linearity);

enum class Role {
  weight,     // regularised and trained
  bias,       // regularised and trained
  free,       // trained, never regularised: batch-norm scale and shift, PReLU slopes
  statistic,  // neither: batch-norm running averages
};

struct ParameterSpec {
  std::string name;  // "weight", "bias", ...
  Shape shape;
  Role role;
};

// How an input must lie for the layer's kernel; `any` takes it as it comes, all inputs alike.
enum class LayoutPreference { any, channels_first, channels_last };

// Whether a layer's kernel can run on interleaved samples (Layout::interleaved), and whether they pay for
// being interleaved. Where they do, its neighbours that can join in.
enum class Interleaving { impossible, possible, wanted };

struct CompileRequest {
  int samples = 1;
  std::vector<TensorSpec> inputs;  // already in the preferred layout, or interleaved
  TensorSpec output;
  bool training = false;  // batch statistics and dropout; otherwise both are frozen
  bool input_gradient = false;
  bool parameter_gradient = false;
  bool absorbs_relu = false;   // the ReLU in front of this max-pool is left to its kernel
  std::optional<Clamp> clamp;  // the ReLU or Clip after this layer is left to its kernel
};

class Layer {
 public:
  virtual ~Layer() = default;

  virtual LayerKind kind() const = 0;
  virtual Linearity linearity() const = 0;

  // The output's shape; throws Error when the inputs do not fit.
  virtual Shape infer(std::span<const Shape> inputs) const = 0;
  virtual std::vector<ParameterSpec> parameters() const { return {}; }
  virtual std::int64_t flops(std::span<const Shape> inputs, const Shape& output) const;

  virtual LayoutPreference preferred_layout() const { return LayoutPreference::any; }
  virtual Interleaving interleaving(std::span<const Shape> /*inputs*/) const {
    return Interleaving::impossible;
  }
  // What the layer is, if it is a clamp, and whether this layer's kernel can do one that follows it. Where
  // nobody wants the clamp's pattern that saves a pass over memory.
  virtual std::optional<Clamp> as_clamp() const { return {}; }
  virtual bool absorbs_clamp() const { return false; }
  virtual std::unique_ptr<Kernel> compile(const CompileRequest& request) const = 0;
};

// Shared checks for infer().
const Shape& only_input(LayerKind kind, std::span<const Shape> inputs);
const Shape& only_image(LayerKind kind, std::span<const Shape> inputs);  // {channels, height, width}
const Shape& all_alike(LayerKind kind, std::span<const Shape> inputs);

}  // namespace lwsvm
