#include "data/zip.h"

#include "base/error.h"
#include "data/input_file.h"

namespace lwsvm {
namespace {

constexpr const char* kZipPlace = "npz";
constexpr const char* kZipRemedy = "save or copy it again";
constexpr std::size_t kMaxMembers = 1 << 16;  // an npz has a handful

// Other methods can expand without bound; these two cannot.
void check_member(const std::string& path, const ArchiveFile& file) {
  if (file.is_encrypted()) fail(kZipPlace, "{}: member {} is encrypted; save it without", path, file.name());
  const std::string format = file.format();  // "ZIP 2.0 (deflation)"
  const bool stored = format.ends_with("(uncompressed)");
  if (!stored && !format.ends_with("(deflation)")) {
    fail(kZipPlace,
         "{}: member {} is packed in an unusual way ({}); save it with numpy.savez or savez_compressed", path,
         file.name(), format);
  }
  if (file.size() > (stored ? file.file_size() : file.file_size() * kDeflateRatio))
    file.broken("a member claims more than it can hold");
}

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path) : path_(path.string()) {
  ArchiveFile file(kZipPlace, path, ArchiveFormat::zip, kZipRemedy);
  while (file.next()) {
    if (members_.size() == kMaxMembers) file.broken("too many members");
    check_member(path_, file);
    members_.push_back({file.name(), file.size()});
  }
}

const ZipMember* ZipArchive::find(const std::string& name) const {
  for (const ZipMember& member : members_) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

ZipReader::ZipReader(const ZipArchive& archive, const ZipMember& member)
    : path_(archive.path()),
      file_(kZipPlace, archive.path(), ArchiveFormat::zip, kZipRemedy),
      left_(member.size) {
  do {
    if (!file_.next()) file_.broken("a member is gone");
  } while (file_.name() != member.name);
  check_member(path_, file_);
  if (file_.doubtful() || file_.size() != member.size) file_.broken("a member's header is damaged");
}

void ZipReader::read(void* out, std::size_t bytes) {
  if (bytes > left_) {
    fail(kZipPlace, "{}: array {} ends after {} of {} bytes that its header announces; save it again", path_,
         file_.name(), left_, bytes);
  }
  if (bytes == 0) return;
  if (file_.read(out, bytes) != bytes) file_.broken("a member ends early");
  left_ -= bytes;
  // libarchive looks at the checksum when it is asked for what comes after the last byte.
  std::uint8_t more = 0;
  if (left_ == 0 && file_.read(&more, 1) != 0) file_.broken("a member is longer than it says");
}

}  // namespace lwsvm
