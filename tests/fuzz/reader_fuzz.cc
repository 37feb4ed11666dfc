// NAME_reader_fuzz --seeds FOLDER writes the seeds; everything else is libFuzzer's command line.
#include "fuzz/reader_fuzz.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "temporary_folder.h"

namespace lwsvm::fuzz {
namespace {

constexpr std::string_view kBetweenParts = "\n=====\n";

void write_seeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : seeds()) write_file_atomically(folder / std::to_string(number++), seed);
}

}  // namespace

std::filesystem::path as_folder(const Files& files) {
  static const TemporaryFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    std::filesystem::remove(entry.path());
  for (const auto& [name, bytes] : files) std::ofstream(folder / name, std::ios::binary) << bytes;
  return folder.path();
}

std::filesystem::path as_file(std::string_view bytes) {
  return as_folder({{"file", bytes}}) / "file";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string bytes;
  for (const std::string& part : parts) bytes += (bytes.empty() ? "" : std::string(kBetweenParts)) + part;
  return bytes;
}

std::vector<std::string_view> split(std::string_view bytes) {
  std::vector<std::string_view> parts;
  for (auto at = bytes.find(kBetweenParts); at != std::string_view::npos; at = bytes.find(kBetweenParts)) {
    parts.push_back(bytes.substr(0, at));
    bytes.remove_prefix(at + kBetweenParts.size());
  }
  parts.push_back(bytes);
  return parts;
}

}  // namespace lwsvm::fuzz

extern "C" int LLVMFuzzerInitialize(const int* argc, const char* const* const* argv) {
  if (*argc != 3 || std::string_view((*argv)[1]) != "--seeds") return 0;
  lwsvm::fuzz::write_seeds((*argv)[2]);
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    lwsvm::fuzz::read({reinterpret_cast<const char*>(data), size});
  } catch (const lwsvm::Error&) {
  }
  return 0;
}
