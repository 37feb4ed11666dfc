// Fuzzing one reader: any bytes give a result or an Error, in little time and memory.
//
// A reader is one file NAME_reader_fuzz.cc that says what is done with the bytes and what to begin with, and
// one line in CMakeLists.txt. reader_fuzz.cc is the rest: libFuzzer's entry, Errors, seeds. Anything but an
// Error (another exception, a failed LWSVM_CHECK, what the sanitizers see) is a finding.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lwsvm::fuzz {

// To be defined by each reader.
void read(std::string_view bytes);
std::vector<std::string> seeds();

// For readers of folders: names and contents, in a folder that held other files before.
using Files = std::vector<std::pair<std::string, std::string_view>>;
std::filesystem::path as_folder(const Files& files);
// For readers of paths.
std::filesystem::path as_file(std::string_view bytes);

// Several files in one input, so that the fuzzer can change each of them.
std::string joined(const std::vector<std::string>& parts);
std::vector<std::string_view> split(std::string_view bytes);

}  // namespace lwsvm::fuzz
