// LWSVM_MAX_ISA=SSE41 or AVX2 in the environment: the loops marked LWSVM_SIMD (base/simd.h) use no more than
// that, whatever the processor has. With oneDNN's DNNL_MAX_CPU_ISA, this is how one machine tests what
// another would run.
//
// The choice is made while the program is being loaded: for each marked loop the loader calls a resolver of
// g++'s, which asks libgcc's __cpu_indicator_init what the processor has and then looks at __cpu_features2.
// The linker puts the function below in its place (--wrap, cmake/lwsvm_target.cmake). So early the
// environment is not set up, nor may functions of shared libraries be called: it is read from the kernel.
#include "base/simd.h"

#include <cstdlib>
#include <string_view>

#ifdef LWSVM_SIMD_CLONES

#include <fcntl.h>
#include <sys/syscall.h>

extern "C" {
int __real___cpu_indicator_init();  // NOLINT(bugprone-reserved-identifier): the linker's name
extern unsigned __cpu_features2[]
    __attribute__((visibility("hidden")));  // NOLINT(bugprone-reserved-identifier)
}

namespace {

// Bits of __cpu_features2[2], part of g++'s interface (i386-cpuinfo.h): x86-64-v3, v4.
constexpr unsigned kLevel3 = 2, kLevel4 = 4;

long system_call(long number, long a, long b, long c) {
  long result = number;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

// Whether `text`, which ends at `end`, begins with `word` and a zero.
bool is_word(const char* text, const char* end, const char* word) {
  for (; text < end && *word != '\0'; ++text, ++word)
    if (*text != *word) return false;
  return *word == '\0' && text < end && *text == '\0';
}

// What the resolvers may not see.
unsigned levels_to_hide() {
  constexpr char kName[] = "\0LWSVM_MAX_ISA=";
  constexpr long name_length = sizeof(kName) - 1;
  static char buffer[1 << 17];  // an environment that is longer than this is not read to its end
  const long file = system_call(SYS_open, reinterpret_cast<long>("/proc/self/environ"), O_RDONLY, 0);
  if (file < 0) return 0;
  long length = 1;  // of what is read, after a zero
  for (long got = 1; got > 0 && length<static_cast<long>(sizeof(buffer)); length += got> 0 ? got : 0)
    got = system_call(SYS_read, file, reinterpret_cast<long>(buffer + length),
                      static_cast<long>(sizeof(buffer)) - length);
  system_call(SYS_close, file, 0, 0);
  for (long at = 0; at + name_length < length; ++at) {
    long same = 0;
    while (same < name_length && buffer[at + same] == kName[same]) ++same;
    if (same < name_length) continue;
    const char *value = buffer + at + name_length, *end = buffer + length;
    if (is_word(value, end, "SSE41")) return kLevel3 | kLevel4;
    if (is_word(value, end, "AVX2")) return kLevel4;
  }
  return 0;
}

}  // namespace

extern "C" int __wrap___cpu_indicator_init() {  // NOLINT(bugprone-reserved-identifier)
  static bool known = false;
  static unsigned hidden = 0;
  const int result = __real___cpu_indicator_init();
  if (!known) {
    hidden = levels_to_hide();
    known = true;
  }
  __cpu_features2[2] &= ~hidden;
  return result;
}

#endif

namespace lwsvm {

#ifdef LWSVM_SIMD_CLONES
const char* simd_level() {
  if (__builtin_cpu_supports("x86-64-v4")) return "AVX-512";
  return __builtin_cpu_supports("x86-64-v3") ? "AVX2" : "SSE2";
}

int simd_lanes() {
  if (__builtin_cpu_supports("x86-64-v4")) return 16;
  return __builtin_cpu_supports("x86-64-v3") ? 8 : 4;
}
#else
const char* simd_level() {
  return "as compiled";
}

int simd_lanes() {
#ifdef __x86_64__
  static const int lanes = [] {
    const char* limit = std::getenv("LWSVM_MAX_ISA");
    const std::string_view most = limit ? limit : "";
    if (most == "SSE41" || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 4;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return wide && most != "AVX2" ? 16 : 8;
  }();
  return lanes;
#else
  return 4;
#endif
}
#endif

}  // namespace lwsvm
