#include "base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

namespace lwsvm {
namespace {

// The text after "key<spaces>:" in a file of /proc; "" if there is none.
std::string proc_field(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::uint64_t proc_kilobytes(const std::string& key) {
  const std::string text = proc_field("/proc/self/status", key);
  return text.empty() ? 0 : std::stoull(text) * 1024;
}

// The limit of a container; "max" and absence are no limit.
std::uint64_t cgroup_limit(const char* path) {
  std::ifstream file(path);
  std::uint64_t limit = 0;
  return file >> limit ? limit : UINT64_MAX;
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.cpu = proc_field("/proc/cpuinfo", "model name");
  if (machine.cpu.empty()) machine.cpu = "unknown";
  cpu_set_t set;
  CPU_ZERO(&set);
  machine.cores = ::sched_getaffinity(0, sizeof(set), &set) == 0
                      ? CPU_COUNT(&set)
                      : static_cast<int>(std::thread::hardware_concurrency());
  machine.cores = std::max(machine.cores, 1);
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    machine.memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  machine.memory = std::min({machine.memory, cgroup_limit("/sys/fs/cgroup/memory.max"),
                             cgroup_limit("/sys/fs/cgroup/memory/memory.limit_in_bytes")});
  return machine;
}

// Not getrusage: its ru_maxrss survives exec, so a small program started by a large one would report the
// large one.
std::uint64_t peak_memory() {
  return proc_kilobytes("VmHWM");
}
std::uint64_t current_memory() {
  return proc_kilobytes("VmRSS");
}

}  // namespace lwsvm
