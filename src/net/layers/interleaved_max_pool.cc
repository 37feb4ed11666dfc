#include "net/layers/interleaved_max_pool.h"

#include <limits>

namespace lwsvm {
namespace {

class InterleavedMaxPoolKernel final : public Kernel {
 public:
  InterleavedMaxPoolKernel(const MaxPools& pools, int lanes) : pools_(pools), kernels_(lane_kernels(lanes)) {}

  void forward(const ForwardArgs& args) const override {
    switch (args.use) {
      case PatternUse::ignore:
        kernels_.max_pool(pools_, args.inputs[0], args.output);
        break;
      case PatternUse::record:
        kernels_.max_pool_record(pools_, args.inputs[0], args.output, args.pattern);
        break;
      case PatternUse::replay:
        kernels_.max_pool_replay(pools_, args.inputs[0], args.output, args.pattern);
        break;
    }
  }

  void backward(const BackwardArgs& args) const override {
    if (args.input_gradients[0])
      kernels_.max_pool_backward(pools_, args.output_gradient, args.pattern, args.input_gradients[0]);
  }

  std::size_t pattern_bytes() const override {
    return static_cast<std::size_t>(pools_.planes * pools_.out_height * pools_.out_width * kernels_.lanes);
  }

 private:
  MaxPools pools_;
  const LaneKernels& kernels_;
};

}  // namespace

std::unique_ptr<Kernel> interleaved_max_pool(const CompileRequest& request, const WindowSpec& window) {
  const Shape &in = request.inputs[0].shape, &out = request.output.shape;
  const int lanes = request.output.lanes;
  MaxPools pools;
  pools.planes = request.output.places(request.samples) / lanes * in[0];
  pools.in_height = in[1];
  pools.in_width = in[2];
  pools.out_height = out[1];
  pools.out_width = out[2];
  pools.height = window.height;
  pools.width = window.width;
  pools.stride_height = window.stride_height;
  pools.stride_width = window.stride_width;
  pools.dilation_height = window.dilation_height;
  pools.dilation_width = window.dilation_width;
  pools.pad_top = window.pad_top;
  pools.pad_left = window.pad_left;
  pools.start = request.absorbs_relu ? 0.0f : -std::numeric_limits<float>::infinity();
  return std::make_unique<InterleavedMaxPoolKernel>(pools, lanes);
}

}  // namespace lwsvm
