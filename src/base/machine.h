// What this program runs on, for logs and reports.
#pragma once

#include <cstdint>
#include <string>

namespace lwsvm {

struct Machine {
  std::string cpu;           // "Intel(R) Xeon(R) Processor @ 2.80GHz"
  int cores = 1;             // that this process may use
  std::uint64_t memory = 0;  // bytes: of the machine, or of the container if that has less
};

Machine describe_machine();

// Bytes of memory in use at the highest point so far, and now; 0 where the system does not say.
std::uint64_t peak_memory();
std::uint64_t current_memory();

}  // namespace lwsvm
