// Another program run to its end, without a shell, its output kept for messages.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace lwsvm {

struct ProcessResult {
  bool found = true;   // false: there is no such program
  int status = 0;      // exit code, or 128 + signal
  std::string output;  // the last few kilobytes of what it printed, both streams
};

// `waiting` is called a few times a second; if it throws (Ctrl-C), the program is ended and the exception
// goes on.
ProcessResult run_process(const std::vector<std::string>& command, const std::filesystem::path& folder,
                          const std::function<void()>& waiting = {});

}  // namespace lwsvm
