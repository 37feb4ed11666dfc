#include "engine/lane_kernels.h"

#include "base/error.h"
#include "base/simd.h"

// What is included below has no choice but to be included more than once: a template cannot say for which
// instruction set it is compiled.
#define LANE_CODE [[gnu::always_inline]] LANE_TARGET inline
#define LANE_MEMBER LANE_CODE
#define LANE_ENTRY LANE_TARGET

namespace lwsvm {
namespace {

namespace lanes4 {
#define LANES 4
#define LANE_TARGET
#include "engine/lane_kernels.inc"
#undef LANES
#undef LANE_TARGET
}  // namespace lanes4

#ifdef __x86_64__

namespace lanes8 {
#define LANES 8
#define LANE_TARGET [[gnu::target("avx2,fma")]]
#include "engine/lane_kernels.inc"
#undef LANES
#undef LANE_TARGET
}  // namespace lanes8

namespace lanes16 {
#define LANES 16
#define LANE_TARGET [[gnu::target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]]
#include "engine/lane_kernels.inc"
#undef LANES
#undef LANE_TARGET
}  // namespace lanes16

#endif

}  // namespace

const LaneKernels& lane_kernels(int lanes) {
  LWSVM_CHECK(lanes <= simd_lanes());
#ifdef __x86_64__
  if (lanes == 16) return lanes16::kKernels;
  if (lanes == 8) return lanes8::kKernels;
#endif
  LWSVM_CHECK(lanes == 4);
  return lanes4::kKernels;
}

}  // namespace lwsvm
