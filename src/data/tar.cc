#include "data/tar.h"

#include <cstdint>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "data/archive_file.h"

namespace lwsvm {
namespace {

constexpr const char* kTarPlace = "tar";

void copy_member(ArchiveFile& from, const std::filesystem::path& to) {
  AtomicFile out(to);
  std::vector<std::uint8_t> buffer(1 << 18);
  std::uint64_t bytes = 0;
  while (const std::size_t got = from.read(buffer.data(), buffer.size())) {
    out.write(buffer.data(), got);
    bytes += got;
  }
  if (bytes != from.size()) from.broken(fmt::format("{} ends early", from.name()));
  out.commit();
}

}  // namespace

void extract_tar(const std::filesystem::path& archive,
                 const std::map<std::string, std::filesystem::path>& wanted,
                 const std::function<void(const std::string&)>& written) {
  ArchiveFile file(kTarPlace, archive, ArchiveFormat::tar, "get it again");
  std::map<std::string, std::filesystem::path> left = wanted;
  while (!left.empty()) {
    if (!file.next()) {
      fail(kTarPlace, "{}: ends without {}; get it again", archive.string(), left.begin()->first);
    }
    const auto found = left.find(file.name());
    if (found == left.end() || !file.is_plain_file()) continue;
    copy_member(file, found->second);
    if (written) written(found->first);
    left.erase(found);
  }
}

}  // namespace lwsvm
