// Checkpoints, as they are and with the length and the checksum that such bytes should have: nothing that the
// fuzzer changes would get past these.
#include "base/checkpoint.h"

#include <zlib.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {
namespace {

constexpr std::size_t kLengthAt = 16, kCrcBytes = 4;

std::string mended(std::string bytes) {
  const std::uint64_t size = bytes.size();
  if (size < kLengthAt + sizeof(size) + kCrcBytes) return bytes;
  std::memcpy(bytes.data() + kLengthAt, &size, sizeof(size));
  const auto crc =
      static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), size - kCrcBytes));
  std::memcpy(bytes.data() + size - kCrcBytes, &crc, kCrcBytes);
  return bytes;
}

// Saved again it says the same.
void check_saved(const std::filesystem::path& file) {
  const Checkpoint checkpoint = Checkpoint::load(file);
  const std::filesystem::path copy = file.parent_path() / "copy";
  checkpoint.save(copy);
  LWSVM_CHECK(Checkpoint::load(copy).names() == checkpoint.names());
  LWSVM_CHECK(Checkpoint::load_meta(copy).type() == checkpoint.meta().type());
}

std::string bytes_of(const Checkpoint& checkpoint) {
  const std::filesystem::path file = as_file("");
  checkpoint.save(file);
  return read_file(file);
}

}  // namespace

void read(std::string_view bytes) {
  try {
    Checkpoint::load(as_file(bytes));
  } catch (const Error&) {  // most are damaged
  }
  check_saved(as_file(mended(std::string(bytes))));
}

std::vector<std::string> seeds() {
  Checkpoint empty, small, all, deep;
  for (int i = 0; i < 90; ++i) deep.meta() = nlohmann::json::array({std::move(deep.meta())});
  small.meta() = {{"epoch", 3}, {"name", "x"}, {"list", {1, -2.5, nullptr, true}}};
  all.meta() = {{"deep", {{"deeper", {{"deepest", {{}, {}}}}}}}, {"long", std::string(300, 'x')}};
  all.put("floats", std::vector<float>{1, 2});
  all.put("doubles", std::vector<double>{3});
  all.put("counts", std::vector<std::int32_t>{-4, 5, 6});
  all.put("random", std::vector<std::uint64_t>{7});
  all.put("bytes", std::vector<std::uint8_t>{8, 9, 10});
  return {bytes_of(empty), bytes_of(small), bytes_of(all), bytes_of(deep)};
}

}  // namespace lwsvm::fuzz
