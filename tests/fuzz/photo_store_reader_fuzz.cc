// Cache files of decoded photos. An input that is none is put after a head, and its checksum corrected:
// otherwise hardly anything that the fuzzer changes would get past it.
#include <zlib.h>

#include "base/cache_folder.h"
#include "base/error.h"
#include "data/photo_store.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {
namespace {

void look_at(std::string_view text) {
  const auto store = parse_photo_store({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  if (!store) return;
  std::size_t kept = 0;
  for (const PhotoRecord& record : store->records)
    if (record.fate == PhotoFate::kept) is_intact(*store, kept++, record.checksum);
  LWSVM_CHECK(store->pixels.size() == kept * static_cast<std::size_t>(store->geometry.shape().size()));
}

}  // namespace

void read(std::string_view bytes) {
  look_at(bytes);
  const auto parts = split(bytes);
  if (parts.size() != 2) return;
  std::string file = cache_head("photos", "fuzz") + std::string(parts[0]);
  const auto crc =
      static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(file.data()), file.size()));
  for (int i = 0; i < 4; ++i) file += static_cast<char>(crc >> (8 * i));
  file.resize((file.size() + 4095) / 4096 * 4096);
  look_at(file + std::string(parts[1]));
}

std::vector<std::string> seeds() {
  std::vector<PhotoRecord> records(3);
  records[1].fate = PhotoFate::damaged;
  records[1].remark = "cut off";
  const auto front = photo_store_front("two photos", {1, 2, 3, 4}, records);
  const std::string file(front.begin(), front.end());
  const std::size_t used = kCacheHead + 5 * 4 + 3 * 8 + 3 * 17 + 8 + 2 * 4;
  return {file + std::string(12, 'p'),
          joined({file.substr(kCacheHead, used - kCacheHead), std::string(12, 'p')})};
}

}  // namespace lwsvm::fuzz
