// Seconds since it was made: of the wall clock or, with LWSVM_CLOCK=cpu in the environment, of the processor,
// all threads of the program together. The latter compares programs fairly on a busy machine
// (bench/versus.py); time limits follow it too.
#pragma once

#include <cstdlib>
#include <ctime>
#include <string_view>

namespace lwsvm {

class Stopwatch {
 public:
  double seconds() const { return now() - start_; }

 private:
  static double now() {
    static const bool processor = [] {
      const char* word = std::getenv("LWSVM_CLOCK");
      return word && std::string_view(word) == "cpu";
    }();
    timespec time{};
    clock_gettime(processor ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }

  double start_ = now();
};

}  // namespace lwsvm
