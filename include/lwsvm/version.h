// Which lwsvm this is.
#pragma once

#include <string>

namespace lwsvm {

const char* version();               // "0.1.0"
std::string version_line();          // "lwsvm 0.1.0 (3975103, GNU 12.2.0, Release)"
std::string instruction_set_name();  // that kernels use here: "AVX2"

}  // namespace lwsvm
