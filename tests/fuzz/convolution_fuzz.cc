// Random convolutions for so many seconds: forward and both gradients against the definition, buffers between
// guard words, every sample's values with and without neighbours, and ReLU and Clip on the way out.
//
//   convolution_fuzz SECONDS [FIRST_SEED]       exit code 1 and the case's seed and geometry at the first
//   fault
//
// Both engines: oneDNN's, and that of interleaved samples. Their kernels depend on the instruction set:
// scripts/fuzz.sh runs this once for each (DNNL_MAX_CPU_ISA, LWSVM_MAX_ISA).
#include <fmt/format.h>

#include <cstdlib>

#include "base/simd.h"
#include "base/stopwatch.h"
#include "engine/convolution_cases.h"
#include "engine/instruction_set.h"

namespace lwsvm {
namespace {

// What is wrong with one engine's convolution, or nothing.
template <typename Engine>
std::string fault(const test::ConvolutionCase& c, std::uint64_t seed) {
  Engine convolution(c.g, c.samples, {c.bias, true, true});
  // Told first: a kernel that is wrong may crash or never come back.
  if (std::getenv("LWSVM_FUZZ_TELL")) fmt::print(stderr, "seed {}: {}\n", seed, describe(c, convolution));
  std::string wrong = complaint(c, convolution);
  if (wrong.empty())
    if (const std::string differs = neighbour_complaint(c, convolution); !differs.empty())
      wrong = differs + " is not what it is alone";
  if (wrong.empty())
    if (const std::string differs = test::clamp_complaint<Engine>(c); !differs.empty())
      wrong = differs + " it is not what a clamp behind it makes of it";
  return wrong.empty() ? wrong : fmt::format("seed {}: {}\n{}", seed, describe(c, convolution), wrong);
}

}  // namespace
}  // namespace lwsvm

int main(int argc, char** argv) {
  using namespace lwsvm;
  const double seconds = argc > 1 ? std::atof(argv[1]) : 10;
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  const Stopwatch watch;
  std::uint64_t cases = 0;
  for (; watch.seconds() < seconds; ++seed, ++cases) {
    const test::ConvolutionCase c = test::random_case(seed);
    for (const std::string& wrong : {fault<Convolution>(c, seed), fault<test::InterleavedEngine>(c, seed)}) {
      if (wrong.empty()) continue;
      fmt::print(stderr, "{}\n", wrong);
      if (!std::getenv("LWSVM_FUZZ_GO_ON")) return 1;
    }
  }
  fmt::print("{} convolutions are right with {} and with {} lanes\n", cases, instruction_set_name(),
             simd_lanes());
  return 0;
}
