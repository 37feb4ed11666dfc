// JPEG files. Anything else that the fuzzer makes of them, such as another format, is read as what it is.
#include "data/made_photos.h"
#include "fuzz/photo_fuzz.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {

using namespace lwsvm::test;

void read(std::string_view bytes) {
  read_photo(bytes);
}

std::vector<std::string> seeds() {
  return {jpeg_bytes(9, 7), jpeg_bytes(40, 24, 1, true), jpeg_bytes(16, 16, 2, false, exif_bytes(6)),
          jpeg_bytes(90, 120, 3, false, exif_bytes(8))};
}

}  // namespace lwsvm::fuzz
