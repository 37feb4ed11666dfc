// Decoded photos as a cache file.
//
// Layout, little endian, after the head that all cache files have (base/cache_folder.h):
//   u32 version  u32 channels  u32 height  u32 width  u32 short side  u32 drawing
//   u64 files  u64 kept  u64 bytes of remarks
//   per file: 16 bytes identity (of its path, size and time), u8 what became of it
//   per file that was not kept, in order: its remark, ended by a zero byte
//   per photo kept: u32 CRC-32 of its pixels
//   u32 CRC-32 of everything before it
//   zeros up to a multiple of 4096; then the pixels of the photos kept, in the order of the files
// The file's size must be exactly this. Nothing is believed before the first CRC agrees, and no pixel before
// its own does: a file that is damaged, cut off or of another version counts as absent.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "data/photo.h"

namespace lwsvm {

using PhotoIdentity = std::array<std::uint8_t, 16>;

enum class PhotoFate : std::uint8_t { kept = 0, no_photo = 1, damaged = 2 };

struct PhotoRecord {
  PhotoIdentity identity{};
  PhotoFate fate = PhotoFate::kept;
  std::string remark;  // of what was not kept: what it is instead, or the Error
  std::uint32_t checksum = 0;
};

// What a file holds. The pixels live as long as `holder`.
struct StoredPhotos {
  PhotoGeometry geometry;
  std::vector<PhotoRecord> records;
  std::span<const std::uint8_t> pixels;  // of the photos kept, one after the other
  std::shared_ptr<const void> holder;
};

// Nothing unless the bytes are such a file, whole, up to the checksums of the pixels.
std::optional<StoredPhotos> parse_photo_store(std::span<const std::uint8_t> bytes);
std::optional<StoredPhotos> open_photo_store(const std::filesystem::path& path);
// Whether the pixels of the photo are those that were stored; `place` counts the photos kept.
bool is_intact(const StoredPhotos& store, std::size_t place, std::uint32_t checksum);

// The bytes before the pixels, padding included.
std::vector<std::uint8_t> photo_store_front(const std::string& description, const PhotoGeometry& geometry,
                                            const std::vector<PhotoRecord>& records);
// At most this many, if each of `files` has a remark of kMaxRemark bytes.
inline constexpr std::size_t kMaxRemark = 400;
std::size_t max_photo_store_front(std::size_t files);

}  // namespace lwsvm
