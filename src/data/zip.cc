#include "data/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "data/input_file.h"

namespace lwsvm {
namespace {

constexpr const char* kZipPlace = "npz";
constexpr std::size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30, kLocatorSize = 20, kEnd64Size = 56;
constexpr std::uint64_t kMostDirectory = std::uint64_t{1} << 24;  // an npz has a handful of members

std::uint64_t little(const std::uint8_t* bytes, int count) {
  std::uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | bytes[i];
  return value;
}

[[noreturn]] void broken(const std::string& path, const char* what) {
  fail(kZipPlace, "{}: not a whole zip archive ({}); save or copy it again", path, what);
}

std::vector<std::uint8_t> read_at(std::ifstream& file, const std::string& path, std::uint64_t offset,
                                  std::uint64_t bytes) {
  std::vector<std::uint8_t> content(bytes);
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(bytes));
  if (static_cast<std::uint64_t>(file.gcount()) != bytes) broken(path, "it cannot be read to its end");
  return content;
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, entries = 0;
};

Directory find_directory(std::ifstream& file, const std::string& path, std::uint64_t size) {
  if (size < kEndSize) broken(path, "it is too short");
  const std::uint64_t tail_size = std::min<std::uint64_t>(size, kEndSize + 65535);  // a comment may follow
  const std::uint64_t tail_start = size - tail_size;
  const auto tail = read_at(file, path, tail_start, tail_size);
  for (std::size_t i = tail.size() - kEndSize + 1; i-- > 0;) {
    const std::uint8_t* end = tail.data() + i;
    if (little(end, 4) != 0x06054b50 || i + kEndSize + little(end + 20, 2) != tail.size()) continue;
    Directory directory{little(end + 16, 4), little(end + 12, 4), little(end + 10, 2)};
    const std::uint64_t position = tail_start + i;
    const bool zip64 =
        directory.offset == 0xffffffff || directory.bytes == 0xffffffff || directory.entries == 0xffff;
    if (!zip64) return directory;
    if (position < kLocatorSize) broken(path, "its zip64 end record is missing");
    const auto locator = read_at(file, path, position - kLocatorSize, kLocatorSize);
    const std::uint64_t end64 = little(locator.data() + 8, 8);
    if (little(locator.data(), 4) != 0x07064b50 || size < kEnd64Size || end64 > size - kEnd64Size) {
      broken(path, "its zip64 end record is missing");
    }
    const auto record = read_at(file, path, end64, kEnd64Size);
    if (little(record.data(), 4) != 0x06064b50) broken(path, "its zip64 end record is missing");
    return {little(record.data() + 48, 8), little(record.data() + 40, 8), little(record.data() + 32, 8)};
  }
  broken(path, "its end record is missing");
}

// Fields that do not fit 32 bits stand in extra field 1, in this order and only if needed.
void read_zip64_sizes(const std::string& path, const std::uint8_t* extra, std::size_t bytes,
                      ZipMember& member) {
  while (bytes >= 4) {
    const std::uint64_t tag = little(extra, 2), length = little(extra + 2, 2);
    if (length > bytes - 4) broken(path, "an extra field is too long");
    if (tag == 1) {
      std::size_t used = 4;
      for (std::uint64_t* field : {&member.size, &member.packed, &member.offset}) {
        if (*field != 0xffffffff) continue;
        if (used + 8 > length + 4) broken(path, "a zip64 size is missing");
        *field = little(extra + used, 8);
        used += 8;
      }
      return;
    }
    extra += 4 + length;
    bytes -= 4 + static_cast<std::size_t>(length);
  }
}

void check_member(const std::string& path, const ZipMember& member, std::uint64_t archive_size) {
  if (member.method != 0 && member.method != 8) {
    fail(kZipPlace, "{}: member {} is packed by method {}; save it with numpy.savez or savez_compressed",
         path, member.name, member.method);
  }
  const bool fits = archive_size >= kLocalSize && member.offset <= archive_size - kLocalSize &&
                    member.packed <= archive_size - kLocalSize - member.offset;
  if (!fits) broken(path, "a member lies beyond its end");
  const bool possible =
      member.method == 0 ? member.size == member.packed : member.size <= member.packed * kDeflateRatio;
  if (!possible) broken(path, "a member claims more than it can hold");
}

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path) : path_(path.string()) {
  const std::uint64_t size = regular_file_size(kZipPlace, path);
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(kZipPlace, "{}: cannot read the file; check its permissions", path_);
  const Directory directory = find_directory(file, path_, size);
  if (directory.bytes > size || directory.offset > size - directory.bytes ||
      directory.bytes > kMostDirectory) {
    broken(path_, "its directory lies beyond its end");
  }
  const auto content = read_at(file, path_, directory.offset, directory.bytes);
  const std::uint8_t* entry = content.data();
  std::size_t left = content.size();
  for (std::uint64_t i = 0; i < directory.entries; ++i) {
    if (left < kEntrySize || little(entry, 4) != 0x02014b50) broken(path_, "its directory is damaged");
    const std::size_t name = little(entry + 28, 2), extra = little(entry + 30, 2),
                      comment = little(entry + 32, 2);
    const std::size_t whole = kEntrySize + name + extra + comment;
    if (whole > left) broken(path_, "its directory is damaged");
    ZipMember member;
    member.name.assign(reinterpret_cast<const char*>(entry + kEntrySize), name);
    if (little(entry + 8, 2) & 1)
      fail(kZipPlace, "{}: member {} is encrypted; save it without", path_, member.name);
    member.method = static_cast<int>(little(entry + 10, 2));
    member.crc = static_cast<std::uint32_t>(little(entry + 16, 4));
    member.packed = little(entry + 20, 4);
    member.size = little(entry + 24, 4);
    member.offset = little(entry + 42, 4);
    read_zip64_sizes(path_, entry + kEntrySize + name, extra, member);
    check_member(path_, member, size);
    members_.push_back(std::move(member));
    entry += whole;
    left -= whole;
  }
}

const ZipMember* ZipArchive::find(const std::string& name) const {
  for (const ZipMember& member : members_) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

struct ZipReader::Inflater {
  z_stream stream{};
  Inflater() { LWSVM_CHECK(inflateInit2(&stream, -MAX_WBITS) == Z_OK); }  // bare deflate, as zip has it
  ~Inflater() { inflateEnd(&stream); }
};

ZipReader::ZipReader(const ZipArchive& archive, const ZipMember& member)
    : path_(archive.path()),
      name_(member.name),
      file_(archive.path(), std::ios::binary),
      packed_left_(member.packed),
      left_(member.size),
      expected_crc_(member.crc) {
  const auto local = read_at(file_, path_, member.offset, kLocalSize);
  if (little(local.data(), 4) != 0x04034b50) broken(path_, "a member's header is damaged");
  file_.seekg(static_cast<std::streamoff>(little(local.data() + 26, 2) + little(local.data() + 28, 2)),
              std::ios::cur);
  if (member.method == 8) {
    inflater_ = std::make_unique<Inflater>();
    buffer_.resize(1 << 17);
  }
}

ZipReader::~ZipReader() = default;

std::size_t ZipReader::fill() {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), packed_left_));
  file_.read(reinterpret_cast<char*>(buffer_.data()), static_cast<std::streamsize>(wanted));
  if (static_cast<std::size_t>(file_.gcount()) != wanted) broken(path_, "a member is cut short");
  packed_left_ -= wanted;
  return wanted;
}

void ZipReader::read_stored(std::uint8_t* out, std::size_t bytes) {
  file_.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(bytes));
  if (static_cast<std::size_t>(file_.gcount()) != bytes) broken(path_, "a member is cut short");
}

void ZipReader::read_deflated(std::uint8_t* out, std::size_t bytes) {
  z_stream& stream = inflater_->stream;
  while (bytes > 0) {
    const auto chunk = static_cast<unsigned>(std::min<std::size_t>(bytes, 1u << 30));
    stream.next_out = out;
    stream.avail_out = chunk;
    while (stream.avail_out > 0) {
      if (stream.avail_in == 0) {
        stream.avail_in = static_cast<unsigned>(fill());
        stream.next_in = buffer_.data();
        if (stream.avail_in == 0) broken(path_, "a member ends early");
      }
      const int code = inflate(&stream, Z_NO_FLUSH);
      if (code == Z_STREAM_END && stream.avail_out > 0) broken(path_, "a member ends early");
      if (code != Z_OK && code != Z_STREAM_END) broken(path_, "a member cannot be unpacked");
    }
    out += chunk;
    bytes -= chunk;
  }
}

void ZipReader::read(void* out, std::size_t bytes) {
  if (bytes > left_) {
    fail(kZipPlace, "{}: array {} ends after {} of {} bytes that its header announces; save it again", path_,
         name_, left_, bytes);
  }
  if (bytes == 0) return;
  auto* to = static_cast<std::uint8_t*>(out);
  inflater_ ? read_deflated(to, bytes) : read_stored(to, bytes);
  crc_ = static_cast<std::uint32_t>(crc32_z(crc_, to, bytes));
  left_ -= bytes;
  if (left_ == 0 && crc_ != expected_crc_) broken(path_, "a checksum does not agree");
}

}  // namespace lwsvm
