// What goes wrong, and how it is said.
//
// Bad input throws Error, whose message begins with its place and ends with a remedy:
//   [idx] train-images-idx3-ubyte: the file ends after 100 of 47040016 bytes; get it again with ...
// A broken invariant of ours is not the user's fault: LWSVM_CHECK prints it and aborts.
#pragma once

#include <fmt/format.h>

#include "lwsvm/error.h"

namespace lwsvm {

// fail("idx", "{}: the file is empty", path) throws Error("[idx] ...: the file is empty").
template <typename... Args>
[[noreturn]] void fail(const char* place, fmt::format_string<Args...> text, Args&&... args) {
  throw Error(fmt::format("[{}] {}", place, fmt::format(text, std::forward<Args>(args)...)));
}

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace lwsvm

#define LWSVM_CHECK(condition)                                               \
  do {                                                                       \
    if (!(condition)) ::lwsvm::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
