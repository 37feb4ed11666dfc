// The command line is a client of the public API, and that stands on nothing but itself: seen from what they
// include, which the linker does not check.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kSource = LWSVM_SOURCE_DIR;

std::vector<std::string> included(const fs::path& file, const std::regex& form) {
  std::vector<std::string> names;
  std::ifstream in(file);
  std::smatch match;
  for (std::string line; std::getline(in, line);)
    if (std::regex_search(line, match, form)) names.push_back(match[1]);
  return names;
}

std::vector<std::string> quoted(const fs::path& file) {
  return included(file, std::regex("^#include \"(.*)\""));
}

bool is_public(const std::string& name) {
  return name.starts_with("lwsvm/") && fs::exists(kSource / "include" / name);
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".cc" || entry.path().extension() == ".h") files.push_back(entry.path());
  return files;
}

TEST(Includes, OfTheCommandLineAreThePublicApiAndWhatPrints) {
  const std::set<std::string> everywhere{"base", "cli", "report"};
  const std::map<std::string, std::set<std::string>> besides{
      {"main.cc", {"mpi"}},  // who else runs under mpirun
      {"report_command.cc", {"pages"}},
      {"reproduce_command.cc", {"reproduce", "run"}}};
  const std::vector<fs::path> files = files_of(kSource / "src/cli");
  EXPECT_GT(files.size(), 10u);
  for (const fs::path& file : files)
    for (const std::string& name : quoted(file)) {
      const std::string folder = name.substr(0, name.find('/'));
      const auto more = besides.find(file.filename().string());
      EXPECT_TRUE(is_public(name) || everywhere.contains(folder) ||
                  (more != besides.end() && more->second.contains(folder)))
          << file.filename() << " includes " << name;
    }
}

// Whoever wants to replace one of them has one folder to read.
TEST(Includes, OfEveryOtherLibraryAreInOneFolder) {
  const std::map<std::string, std::string> homes{{"CLI", "cli"},     {"dnnl", "engine"},  {"mpi", "mpi"},
                                                 {"onnx", "model"},  {"google", "model"}, {"archive", "data"},
                                                 {"openssl", "data"}};
  std::set<std::string> seen;
  for (const auto& entry : fs::recursive_directory_iterator(kSource / "src"))
    for (const std::string& name : included(entry.path(), std::regex("^#include <([a-zA-Z0-9_]+)[./].*>"))) {
      const auto home = homes.find(name);
      if (home == homes.end()) continue;
      seen.insert(name);
      EXPECT_EQ(*fs::relative(entry.path(), kSource / "src").begin(), home->second)
          << entry.path() << " includes " << name;
    }
  EXPECT_EQ(seen.size(), homes.size());
}

TEST(Includes, OfThePublicApiAreItsOwnAndTheStandardLibrarys) {
  const std::vector<fs::path> files = files_of(kSource / "include/lwsvm");
  EXPECT_GT(files.size(), 10u);
  for (const fs::path& file : files) {
    for (const std::string& name : quoted(file))
      EXPECT_TRUE(is_public(name)) << file.filename() << " includes " << name;
    for (const std::string& name : included(file, std::regex("^#include <(.*)>")))
      EXPECT_TRUE(std::regex_match(name, std::regex("[a-z_]+"))) << file.filename() << " includes " << name;
  }
}

}  // namespace
