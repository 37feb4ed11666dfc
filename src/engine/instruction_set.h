// Which instructions oneDNN's kernels use here: what the processor has, or less by DNNL_MAX_CPU_ISA. Digits
// in the documents name it, because kernels for different instructions round differently.
#pragma once

#include "lwsvm/version.h"

namespace lwsvm {

enum class InstructionSet { other, sse41, avx, avx2, avx512 };

InstructionSet instruction_set();  // instruction_set_name() is public: lwsvm/version.h

}  // namespace lwsvm
