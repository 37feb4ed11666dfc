#include "base/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json_reader.h"

namespace lwsvm {
namespace {

static_assert(std::endian::native == std::endian::little, "checkpoints are written as they lie in memory");

constexpr std::array<char, 8> kMagic = {'L', 'W', 'S', 'V', 'M', 'C', 'K', 'P'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = kMagic.size() + 4 + 4 + 8;
constexpr std::size_t kSectionHeaderBytes = 1 + 4 + 8;
constexpr std::size_t kCrcBytes = 4;
constexpr std::uint8_t kMetaType = 255;  // the others are the index in Checkpoint::Section
constexpr std::array<const char*, 5> kTypeNames = {"float32", "float64", "int32", "uint64", "uint8"};
constexpr std::array<std::size_t, 5> kTypeBytes = {4, 8, 4, 8, 1};

class CrcWriter {
 public:
  explicit CrcWriter(const std::filesystem::path& path) : file_(path) {}

  void write(const void* data, std::size_t bytes) {
    crc_ = static_cast<std::uint32_t>(crc32_z(crc_, static_cast<const Bytef*>(data), bytes));
    file_.write(data, bytes);
  }
  template <typename T>
  void write_value(T value) {
    write(&value, sizeof(value));
  }
  void section(std::uint8_t type, std::string_view name, const void* data, std::uint64_t bytes) {
    write_value(type);
    write_value(static_cast<std::uint32_t>(name.size()));
    write_value(bytes);
    write(name.data(), name.size());
    if (bytes > 0) write(data, bytes);
  }
  void finish() {
    file_.write(&crc_, sizeof(crc_));
    file_.commit();
  }

 private:
  AtomicFile file_;
  std::uint32_t crc_ = 0;
};

class CrcReader {
 public:
  explicit CrcReader(const std::filesystem::path& path) : path_(path.string()) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("checkpoint", "{}: cannot read: {}", path_, std::strerror(errno));
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      fail("checkpoint", "{}: not a regular file", path_);
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
  ~CrcReader() { ::close(descriptor_); }
  CrcReader(const CrcReader&) = delete;
  CrcReader& operator=(const CrcReader&) = delete;

  std::uint64_t size() const { return size_; }
  std::uint32_t crc() const { return crc_; }
  // Bytes of sections still to come: what a length field may at most claim.
  std::uint64_t remaining() const { return size_ - position_ - kCrcBytes; }

  void read(void* data, std::size_t bytes) {
    char* to = static_cast<char*>(data);
    std::size_t missing = bytes;
    while (missing > 0) {
      const ssize_t got = ::read(descriptor_, to, missing);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("checkpoint", "{}: cannot read: {}", path_, std::strerror(errno));
      if (got == 0) damaged("it ends too early");
      to += got;
      missing -= static_cast<std::size_t>(got);
    }
    position_ += bytes;
    if (bytes > 0) crc_ = static_cast<std::uint32_t>(crc32_z(crc_, static_cast<const Bytef*>(data), bytes));
  }
  template <typename T>
  T read_value() {
    T value;
    read(&value, sizeof(value));
    return value;
  }
  [[noreturn]] void damaged(std::string_view reason) const {
    fail("checkpoint", "{}: the file is damaged: {}; go back to an older checkpoint or start the run anew",
         path_, reason);
  }

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
  std::uint32_t crc_ = 0;
};

std::uint32_t read_header(CrcReader& reader, const std::string& path) {
  if (reader.size() < kHeaderBytes + kCrcBytes) reader.damaged("it is too short to be a checkpoint");
  if (reader.read_value<std::array<char, 8>>() != kMagic)
    fail("checkpoint", "{}: not a checkpoint of lwsvm", path);
  if (const auto version = reader.read_value<std::uint32_t>(); version != kVersion) {
    fail("checkpoint",
         "{}: format version {}, but this program reads version {}; use the program that wrote it", path,
         version, kVersion);
  }
  const auto count = reader.read_value<std::uint32_t>();
  const auto bytes = reader.read_value<std::uint64_t>();
  if (bytes != reader.size()) reader.damaged(fmt::format("it has {} of {} bytes", reader.size(), bytes));
  return count;
}

struct SectionHeader {
  std::uint8_t type = 0;
  std::string name;
  std::uint64_t payload_bytes = 0;
};

SectionHeader read_section_header(CrcReader& reader) {
  if (reader.remaining() < kSectionHeaderBytes) reader.damaged("it has too few sections");
  SectionHeader section;
  section.type = reader.read_value<std::uint8_t>();
  const auto name_bytes = reader.read_value<std::uint32_t>();
  section.payload_bytes = reader.read_value<std::uint64_t>();
  if (name_bytes > reader.remaining() || section.payload_bytes > reader.remaining() - name_bytes) {
    reader.damaged("a section is longer than the file");
  }
  section.name.resize(name_bytes);
  reader.read(section.name.data(), name_bytes);
  return section;
}

std::vector<std::uint8_t> read_meta_section(CrcReader& reader) {
  const SectionHeader section = read_section_header(reader);
  if (section.type != kMetaType) reader.damaged("its sections are out of order");
  std::vector<std::uint8_t> meta(section.payload_bytes);
  reader.read(meta.data(), meta.size());
  return meta;
}

nlohmann::json parse_meta(const std::vector<std::uint8_t>& bytes, const CrcReader& reader) {
  auto meta = read_cbor(bytes);
  if (meta.is_discarded()) reader.damaged("its metadata cannot be read");
  return meta;
}

}  // namespace

Checkpoint::Checkpoint() : meta_(std::make_unique<nlohmann::json>(nlohmann::json::object())) {}
Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

void Checkpoint::add(const std::string& name, Section section) {
  const bool is_new = sections_.emplace(name, std::move(section)).second;
  LWSVM_CHECK(is_new && "a checkpoint name is given once");
}

const Checkpoint::Section& Checkpoint::find(const std::string& name) const {
  const auto found = sections_.find(name);
  if (found == sections_.end()) {
    fail("checkpoint", "'{}' is missing; the checkpoint belongs to another kind of run or version", name);
  }
  return found->second;
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> result;
  result.reserve(sections_.size());
  for (const auto& [name, section] : sections_) result.push_back(name);
  return result;
}

template <typename T>
void Checkpoint::put(const std::string& name, std::vector<T> values) {
  Array<T> array;
  array.owned = std::move(values);
  array.view = array.owned;  // a vector's memory stays where it is when the vector is moved
  add(name, std::move(array));
}

template <typename T>
void Checkpoint::put_view(const std::string& name, std::span<const T> values) {
  add(name, Array<T>{{}, values});
}

template <typename T>
std::span<const T> Checkpoint::get(const std::string& name) const {
  const Section& section = find(name);
  if (const auto* array = std::get_if<Array<T>>(&section)) return array->view;
  fail("checkpoint", "'{}' holds {}, not {}", name, kTypeNames[section.index()],
       kTypeNames[Section(Array<T>{}).index()]);
}

template <typename T>
std::span<const T> Checkpoint::get(const std::string& name, std::size_t expected_size) const {
  const auto values = get<T>(name);
  if (values.size() != expected_size) {
    fail("checkpoint",
         "'{}' has {} values where {} are needed; the checkpoint belongs to another network or data set",
         name, values.size(), expected_size);
  }
  return values;
}

template <typename T>
std::vector<T> Checkpoint::take(const std::string& name) {
  const auto view = get<T>(name);
  const auto found = sections_.find(name);
  auto& array = std::get<Array<T>>(found->second);
  const bool owns = view.data() == array.owned.data() && view.size() == array.owned.size();
  std::vector<T> values = owns ? std::move(array.owned) : std::vector<T>(view.begin(), view.end());
  sections_.erase(found);
  return values;
}

void Checkpoint::save(const std::filesystem::path& path) const {
  std::vector<std::uint8_t> meta;
  nlohmann::json::to_cbor(*meta_, meta);
  std::uint64_t bytes = kHeaderBytes + kSectionHeaderBytes + meta.size() + kCrcBytes;
  for (const auto& [name, section] : sections_) {
    const auto payload = std::visit([](const auto& array) { return array.view.size_bytes(); }, section);
    bytes += kSectionHeaderBytes + name.size() + payload;
  }

  CrcWriter writer(path);
  writer.write_value(kMagic);
  writer.write_value(kVersion);
  writer.write_value(static_cast<std::uint32_t>(sections_.size() + 1));
  writer.write_value(bytes);
  writer.section(kMetaType, "", meta.data(), meta.size());
  for (const auto& entry : sections_) {
    std::visit(
        [&](const auto& array) {
          writer.section(static_cast<std::uint8_t>(entry.second.index()), entry.first, array.view.data(),
                         array.view.size_bytes());
        },
        entry.second);
  }
  writer.finish();
}

Checkpoint Checkpoint::load(const std::filesystem::path& path) {
  CrcReader reader(path);
  Checkpoint result;
  const std::uint32_t count = read_header(reader, path.string());
  if (count == 0) reader.damaged("it has too few sections");
  const std::vector<std::uint8_t> meta = read_meta_section(reader);
  for (std::uint32_t i = 1; i < count; ++i) {
    const auto [type, name, payload_bytes] = read_section_header(reader);
    if (type == kMetaType) reader.damaged("its sections are out of order");
    if (type >= kTypeBytes.size()) reader.damaged("a section is of an unknown type");
    if (payload_bytes % kTypeBytes[type] != 0) reader.damaged("a section has a broken length");
    if (result.has(name)) reader.damaged("a section comes twice");
    const auto read_array = [&, &name = name, bytes = payload_bytes]<typename T>(T) {
      std::vector<T> values(bytes / sizeof(T));
      reader.read(values.data(), bytes);
      result.put(name, std::move(values));
    };
    switch (type) {
      case 0:
        read_array(float{});
        break;
      case 1:
        read_array(double{});
        break;
      case 2:
        read_array(std::int32_t{});
        break;
      case 3:
        read_array(std::uint64_t{});
        break;
      default:
        read_array(std::uint8_t{});
        break;
    }
  }
  if (reader.remaining() != 0) reader.damaged("there is something after its last section");
  const std::uint32_t computed = reader.crc();
  if (reader.read_value<std::uint32_t>() != computed) reader.damaged("its checksum does not match");
  *result.meta_ = parse_meta(meta, reader);
  return result;
}

nlohmann::json Checkpoint::load_meta(const std::filesystem::path& path) {
  CrcReader reader(path);
  if (read_header(reader, path.string()) == 0) reader.damaged("it has too few sections");
  return parse_meta(read_meta_section(reader), reader);
}

#define LWSVM_CHECKPOINT_TYPE(T)                                                         \
  template void Checkpoint::put<T>(const std::string&, std::vector<T>);                  \
  template void Checkpoint::put_view<T>(const std::string&, std::span<const T>);         \
  template std::span<const T> Checkpoint::get<T>(const std::string&) const;              \
  template std::span<const T> Checkpoint::get<T>(const std::string&, std::size_t) const; \
  template std::vector<T> Checkpoint::take<T>(const std::string&);
LWSVM_CHECKPOINT_TYPE(float)
LWSVM_CHECKPOINT_TYPE(double)
LWSVM_CHECKPOINT_TYPE(std::int32_t)
LWSVM_CHECKPOINT_TYPE(std::uint64_t)
LWSVM_CHECKPOINT_TYPE(std::uint8_t)
#undef LWSVM_CHECKPOINT_TYPE

}  // namespace lwsvm
