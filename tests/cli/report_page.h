// A report's page: the data in it, and scripts of tests/browser, which look at it in a real browser.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"

namespace lwsvm::cli {

// What the page knows.
inline json page_data(const std::filesystem::path& page) {
  const std::string text = read_file(page), begin = "id=\"data\">";
  const std::size_t from = text.find(begin) + begin.size();
  return json::parse(text.substr(from, text.find("</script", from) - from));
}

// The first of these programs that is on the PATH; empty if none is.
inline std::string found_program(const std::vector<std::string>& names) {
  const char* path = std::getenv("PATH");
  for (const std::string& name : names) {
    std::istringstream folders(path ? path : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');)
      if (const std::filesystem::path program = std::filesystem::path(folder) / name;
          std::filesystem::exists(program))
        return program.string();
  }
  return "";
}

inline std::string found_browser() {
  return found_program({"chromium", "chromium-browser", "google-chrome"});
}

inline bool has_browser() {
  return !found_browser().empty() && !found_program({"node"}).empty();
}

constexpr const char* kNeedsABrowser = "needs chromium and node: scripts/install-deps.sh test";

// Exit code and output of a script, whose first argument is the browser.
inline std::pair<int, std::string> look(const std::string& script,
                                        const std::vector<std::string>& arguments) {
  std::string command = "node '" LWSVM_SOURCE_DIR "/tests/browser/" + script + "' " + found_browser();
  for (const std::string& argument : arguments) command += " '" + argument + "'";
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::string printed;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) printed.append(buffer, n);
  return {::pclose(pipe), printed};
}

}  // namespace lwsvm::cli
