#include "base/error.h"

#include <cstdio>
#include <cstdlib>

namespace lwsvm {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "lwsvm: internal error: %s:%d: %s does not hold\n", file, line, condition);
  std::abort();
}

}  // namespace lwsvm
