// How often a test repeats itself.
#pragma once

namespace lwsvm {

#ifdef LWSVM_SANITIZED
inline constexpr int repetitions(int /*normally*/, int sanitized) {
  return sanitized;
}
#else
inline constexpr int repetitions(int normally, int /*sanitized*/) {
  return normally;
}
#endif

}  // namespace lwsvm
