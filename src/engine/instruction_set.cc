#include "engine/instruction_set.h"

#include <dnnl.h>

namespace lwsvm {

InstructionSet instruction_set() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_all:
      return InstructionSet::other;
    case dnnl_cpu_isa_sse41:
      return InstructionSet::sse41;
    case dnnl_cpu_isa_avx:
      return InstructionSet::avx;
    case dnnl_cpu_isa_avx2:
    case dnnl_cpu_isa_avx2_vnni:
      return InstructionSet::avx2;
    default:
      return InstructionSet::avx512;
  }
}

std::string instruction_set_name() {
  switch (instruction_set()) {
    case InstructionSet::sse41:
      return "SSE4.1";
    case InstructionSet::avx:
      return "AVX";
    case InstructionSet::avx2:
      return "AVX2";
    case InstructionSet::avx512:
      return "AVX-512";
    case InstructionSet::other:
      break;
  }
  return "no vector instructions";
}

}  // namespace lwsvm
