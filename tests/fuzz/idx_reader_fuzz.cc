// Folders of IDX files.
#include "data/idx.h"

#include <array>

#include "data/made_files.h"
#include "fuzz/data_set_check.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {

using namespace lwsvm::test;

void read(std::string_view bytes) {
  constexpr std::array<const char*, 4> kNames = {"train-images-idx", "train-labels-idx", "t10k-images-idx",
                                                 "t10k-labels-idx"};
  Files files;
  for (const std::string_view part : split(bytes))
    if (files.size() < kNames.size()) files.emplace_back(kNames[files.size()], part);
  check_data_set(load_idx_folder(as_folder(files)));
}

std::vector<std::string> seeds() {
  const std::string images = idx({3, 2, 4}, std::string(24, '\5'));
  const std::string colours = idx({3, 2, 2, 3}, std::string(36, '\7'));
  const std::string labels = idx({3}, std::string("\0\2\1", 3));
  return {joined({images, labels}), joined({images, labels, images, labels}), joined({colours, labels}),
          joined({gzipped(images), gzipped(labels)})};
}

}  // namespace lwsvm::fuzz
