// Which lwsvm this is. Filled in by CMake when it configures, so `revision` is that of the last configure.
#pragma once

#include <string>

namespace lwsvm {

const char* version();   // "0.1.0"
const char* revision();  // `git describe --always --dirty`; "" outside of git
const char* compiler();  // "GNU 12.2.0, Release"

std::string version_line();  // "lwsvm 0.1.0 (3975103, GNU 12.2.0, Release)"

}  // namespace lwsvm
