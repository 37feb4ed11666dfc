#include "net/layers/activations.h"

#include "base/error.h"
#include "net/layers/pointwise.h"

namespace lwsvm {
namespace {

struct ReluOp {
  static constexpr int kBits = 1;
  std::uint8_t piece(float x) const { return x > 0.0f; }
  float value(std::uint8_t piece, float x) const { return piece ? x : 0.0f; }
  float slope(std::uint8_t piece) const { return piece ? 1.0f : 0.0f; }
};

struct LeakyReluOp {
  static constexpr int kBits = 1;
  float below;
  std::uint8_t piece(float x) const { return x > 0.0f; }
  float value(std::uint8_t piece, float x) const { return x * slope(piece); }
  float slope(std::uint8_t piece) const { return piece ? 1.0f : below; }
};

struct ClipOp {
  static constexpr int kBits = 8;
  float low, high;
  std::uint8_t piece(float x) const {
    return static_cast<std::uint8_t>(static_cast<int>(x > low) + static_cast<int>(x > high));
  }
  float value(std::uint8_t piece, float x) const { return piece == 1 ? x : (piece == 0 ? low : high); }
  float slope(std::uint8_t piece) const { return piece == 1 ? 1.0f : 0.0f; }
};

struct AbsOp {
  static constexpr int kBits = 1;
  std::uint8_t piece(float x) const { return x > 0.0f; }
  float value(std::uint8_t piece, float x) const { return piece ? x : -x; }
  float slope(std::uint8_t piece) const { return piece ? 1.0f : -1.0f; }
};

}  // namespace

std::unique_ptr<Kernel> ReluLayer::compile(const CompileRequest& request) const {
  return std::make_unique<PointwiseKernel<ReluOp>>(request, ReluOp{});
}

std::unique_ptr<Kernel> LeakyReluLayer::compile(const CompileRequest& request) const {
  return std::make_unique<PointwiseKernel<LeakyReluOp>>(request, LeakyReluOp{slope_});
}

ClipLayer::ClipLayer(float low, float high) : low_(low), high_(high) {
  if (!(low <= high)) fail("net", "Clip to [{}, {}] leaves nothing", low, high);
}

std::unique_ptr<Kernel> ClipLayer::compile(const CompileRequest& request) const {
  return std::make_unique<PointwiseKernel<ClipOp>>(request, ClipOp{low_, high_});
}

std::unique_ptr<Kernel> AbsLayer::compile(const CompileRequest& request) const {
  return std::make_unique<PointwiseKernel<AbsOp>>(request, AbsOp{});
}

}  // namespace lwsvm
