#include "data/photo_store.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/cache_folder.h"
#include "base/error.h"

namespace lwsvm {
namespace {

constexpr std::uint32_t kStoreVersion = 2;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kStoreNumbers = 6 * 4 + 3 * 8;
constexpr std::size_t kPerFile = sizeof(PhotoIdentity) + 1;
constexpr int kMaxStoredSide = 1 << 20;

constexpr std::size_t up_to_page(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

std::uint32_t crc_of(std::span<const std::uint8_t> bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

template <typename T>
void put(std::vector<std::uint8_t>& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

// Takes from the front; whether there is enough is asked before.
class StoreBytes {
 public:
  explicit StoreBytes(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  std::size_t left() const { return rest_.size(); }
  std::span<const std::uint8_t> take(std::size_t count) {
    LWSVM_CHECK(count <= rest_.size());
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  template <typename T>
  T number() {
    T value = 0;
    const auto bytes = take(sizeof(T));
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(T{bytes[i]} << (8 * i));
    return value;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace

std::size_t max_photo_store_front(std::size_t files) {
  return up_to_page(kCacheHead + kStoreNumbers + files * (kPerFile + kMaxRemark + 1 + 4) + 4);
}

std::vector<std::uint8_t> photo_store_front(const std::string& description, const PhotoGeometry& geometry,
                                            const std::vector<PhotoRecord>& records) {
  const std::string head = cache_head("photos", description);
  std::vector<std::uint8_t> out(head.begin(), head.end());
  std::vector<std::uint8_t> remarks, checksums;
  for (const PhotoRecord& record : records) {
    if (record.fate == PhotoFate::kept) {
      put(checksums, record.checksum);
      continue;
    }
    const std::string_view remark = std::string_view(record.remark).substr(0, kMaxRemark);
    for (const char c : remark) remarks.push_back(static_cast<std::uint8_t>(c == '\0' ? '?' : c));
    remarks.push_back(0);
  }
  for (const int number :
       {geometry.channels, geometry.height, geometry.width, geometry.short_side, geometry.drawing}) {
    if (out.size() == kCacheHead) put(out, kStoreVersion);
    put(out, static_cast<std::uint32_t>(number));
  }
  put(out, std::uint64_t{records.size()});
  put(out, std::uint64_t{checksums.size() / 4});
  put(out, std::uint64_t{remarks.size()});
  for (const PhotoRecord& record : records) {
    out.insert(out.end(), record.identity.begin(), record.identity.end());
    out.push_back(static_cast<std::uint8_t>(record.fate));
  }
  out.insert(out.end(), remarks.begin(), remarks.end());
  out.insert(out.end(), checksums.begin(), checksums.end());
  put(out, crc_of(out));
  out.resize(up_to_page(out.size()));
  return out;
}

std::optional<StoredPhotos> parse_photo_store(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < kCacheHead + kStoreNumbers + 4) return {};
  StoreBytes in(bytes);
  const auto head = in.take(kCacheHead);
  const auto kind = parse_cache_head({reinterpret_cast<const char*>(head.data()), head.size()});
  if (!kind || kind->kind != "photos" || in.number<std::uint32_t>() != kStoreVersion) return {};
  StoredPhotos store;
  std::uint64_t numbers[5];
  for (std::uint64_t& number : numbers) number = in.number<std::uint32_t>();
  if (std::ranges::any_of(numbers, [](std::uint64_t number) { return number > kMaxStoredSide; })) return {};
  store.geometry = {static_cast<int>(numbers[0]), static_cast<int>(numbers[1]), static_cast<int>(numbers[2]),
                    static_cast<int>(numbers[3]), static_cast<int>(numbers[4])};
  const auto sample = static_cast<std::uint64_t>(store.geometry.shape().size());
  const auto files = in.number<std::uint64_t>(), kept = in.number<std::uint64_t>(),
             remark_bytes = in.number<std::uint64_t>();
  // Each is held against the file's size before it is multiplied.
  if (sample == 0 || files > in.left() / kPerFile || kept > files || remark_bytes > in.left() ||
      kept > bytes.size() / sample)
    return {};
  const std::size_t front = kCacheHead + kStoreNumbers + files * kPerFile + remark_bytes + kept * 4;
  if (front + 4 > bytes.size() || bytes.size() != up_to_page(front + 4) + kept * sample) return {};
  StoreBytes crc(bytes.subspan(front));
  if (crc.number<std::uint32_t>() != crc_of(bytes.first(front))) return {};

  StoreBytes entries(in.take(files * kPerFile));
  StoreBytes remarks(in.take(remark_bytes)), checksums(in.take(kept * 4));
  store.records.resize(files);
  for (PhotoRecord& record : store.records) {
    const auto identity = entries.take(sizeof(PhotoIdentity));
    std::ranges::copy(identity, record.identity.begin());
    const auto fate = entries.number<std::uint8_t>();
    if (fate > static_cast<std::uint8_t>(PhotoFate::damaged)) return {};
    record.fate = static_cast<PhotoFate>(fate);
    if (record.fate == PhotoFate::kept) {
      if (checksums.left() == 0) return {};
      record.checksum = checksums.number<std::uint32_t>();
      continue;
    }
    std::uint8_t c = 1;
    while (remarks.left() > 0 && (c = remarks.number<std::uint8_t>()) != 0)
      record.remark += static_cast<char>(c);
    if (c != 0) return {};
  }
  if (checksums.left() != 0 || remarks.left() != 0) return {};
  store.pixels = bytes.subspan(up_to_page(front + 4));
  return store;
}

std::optional<StoredPhotos> open_photo_store(const std::filesystem::path& path) {
  try {
    const auto file = std::make_shared<MappedFile>(path);
    std::optional<StoredPhotos> store = parse_photo_store(file->bytes());
    if (store) store->holder = file;
    return store;
  } catch (const Error&) {  // there is none, or it cannot be read: it can be made again
    return {};
  }
}

bool is_intact(const StoredPhotos& store, std::size_t place, std::uint32_t checksum) {
  const auto sample = static_cast<std::size_t>(store.geometry.shape().size());
  return crc_of(store.pixels.subspan(place * sample, sample)) == checksum;
}

}  // namespace lwsvm
