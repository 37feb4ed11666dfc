// WebP files. Anything else that the fuzzer makes of them, such as another format, is read as what it is.
#include "data/made_photos.h"
#include "fuzz/photo_fuzz.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {

using namespace lwsvm::test;

void read(std::string_view bytes) {
  read_photo(bytes);
}

std::vector<std::string> seeds() {
  return {webp_bytes(9, 7), webp_bytes(40, 24, 1, false), webp_bytes(64, 64, 2, true)};
}

}  // namespace lwsvm::fuzz
