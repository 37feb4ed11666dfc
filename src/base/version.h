// Which lwsvm this is. Filled in by CMake when it configures, so `revision` is that of the last configure.
#pragma once

#include "lwsvm/version.h"

namespace lwsvm {

const char* revision();  // `git describe --always --dirty`; "" outside of git
const char* compiler();  // "GNU 12.2.0, Release"

}  // namespace lwsvm
