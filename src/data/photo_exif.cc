// EXIF's orientation: a TIFF header, "II" or "MM" for the byte order, 42, where the first directory is; there
// 12 bytes per entry: tag, type, count, value. Orientation is tag 0x112, one short.
#include <cstring>

#include "data/photo_decoders.h"

namespace lwsvm {

int exif_orientation(std::span<const std::uint8_t> exif) {
  constexpr std::size_t kPrefix = 6, kHeader = 8, kEntry = 12;
  constexpr std::uint32_t kOrientation = 0x112, kShort = 3;
  if (exif.size() > kPrefix && std::memcmp(exif.data(), "Exif\0\0", kPrefix) == 0)
    exif = exif.subspan(kPrefix);
  if (exif.size() < kHeader) return 1;
  const bool little = exif[0] == 'I' && exif[1] == 'I';
  if (!little && !(exif[0] == 'M' && exif[1] == 'M')) return 1;
  const auto number = [&](std::size_t at, std::size_t bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | exif[at + (little ? bytes - 1 - i : i)];
    return value;
  };
  const std::size_t directory = number(4, 4);
  if (number(2, 2) != 42 || directory + 2 > exif.size()) return 1;
  const std::size_t entries = number(directory, 2);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t at = directory + 2 + i * kEntry;
    if (at + kEntry > exif.size()) return 1;
    if (number(at, 2) != kOrientation) continue;
    if (number(at + 2, 2) != kShort) return 1;
    const std::uint32_t value = number(at + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace lwsvm
