#include "data/idx.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "data/input_file.h"
#include "data/sample_axes.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIdxPlace = "idx";

enum class Part { train, test };

bool is_idx_name(const std::string& name, Part part, std::string_view kind) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string::npos; };
  const bool test = has("t10k") || has("test");
  return has("idx") && has(kind) && (part == Part::test ? test : has("train") && !test);
}

// The file of this part and kind, "" if there is none. Raw wins over .gz of the same file: it is quicker to
// read.
fs::path find_idx(const fs::path& folder, Part part, std::string_view kind) {
  fs::path found;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());  // raw comes before raw.gz
  for (const fs::path& entry : entries) {
    if (!is_idx_name(entry.filename().string(), part, kind)) continue;
    if (found.empty()) {
      found = entry;
    } else if (entry.filename().string() != found.filename().string() + ".gz") {
      fail(kIdxPlace, "{}: holds both {} and {}; put each data set into its own folder", folder.string(),
           found.filename().string(), entry.filename().string());
    }
  }
  return found;
}

Samples read_part(const fs::path& images_path, const fs::path& labels_path, ImageShape& shape) {
  IdxArray images = read_idx(images_path);
  const SampleAxes axes = guess_axes(kIdxPlace, images_path.string(), images.dims);
  const IdxArray labels = read_idx(labels_path);
  if (labels.dims.size() != 1) {
    fail(kIdxPlace, "{}: {} axes; labels have one", labels_path.string(), labels.dims.size());
  }
  if (labels.dims[0] != images.dims[0]) {
    fail(kIdxPlace, "{}: {} labels, but {} has {} images; the files do not belong together",
         labels_path.string(), labels.dims[0], images_path.string(), images.dims[0]);
  }
  if (axes.channels_last) channels_first(axes.shape, images.values);
  shape = axes.shape;
  return Samples(shape, std::move(images.values), {labels.values.begin(), labels.values.end()});
}

}  // namespace

IdxArray read_idx(const fs::path& path) {
  InputFile file(kIdxPlace, path);
  std::array<std::uint8_t, 4> magic{};
  file.read_exactly(magic.data(), magic.size());
  if (magic[0] != 0 || magic[1] != 0) {
    fail(kIdxPlace, "{}: begins with {:02x} {:02x}, an IDX file with 00 00; this is another format",
         file.path(), magic[0], magic[1]);
  }
  if (magic[2] != 8) {
    fail(kIdxPlace,
         "{}: holds values of type {:#04x}; only unsigned bytes (0x08) are read, save others as npz",
         file.path(), magic[2]);
  }
  if (magic[3] < 1 || magic[3] > 4) {
    fail(kIdxPlace, "{}: claims {} axes; expected 1 to 4", file.path(), magic[3]);
  }
  IdxArray array;
  std::uint64_t size = 1;
  for (int i = 0; i < magic[3]; ++i) {
    std::array<std::uint8_t, 4> b{};
    file.read_exactly(b.data(), b.size());
    const std::uint64_t dim = std::uint64_t{b[0]} << 24 | b[1] << 16 | b[2] << 8 | b[3];
    if (dim != 0 && size > file.max_bytes() / dim) {
      fail(kIdxPlace, "{}: claims more values than a file of this size can hold; get it again", file.path());
    }
    size *= dim;
    array.dims.push_back(dim);
  }
  array.values = file.read_vector(size);
  file.expect_end();
  return array;
}

bool is_idx_folder(const fs::path& folder) {
  return fs::is_directory(folder) && !find_idx(folder, Part::train, "images").empty();
}

DataSet load_idx_folder(const fs::path& folder) {
  const fs::path train_images = find_idx(folder, Part::train, "images");
  const fs::path train_labels = find_idx(folder, Part::train, "labels");
  const fs::path test_images = find_idx(folder, Part::test, "images");
  const fs::path test_labels = find_idx(folder, Part::test, "labels");
  if (train_images.empty() || train_labels.empty()) {
    fail(kIdxPlace, "{}: no training {}; expected a file such as train-{}-ubyte or the same with .gz",
         folder.string(), train_images.empty() ? "images" : "labels",
         train_images.empty() ? "images-idx3" : "labels-idx1");
  }
  if (test_images.empty() != test_labels.empty()) {
    fail(kIdxPlace, "{}: has test {} without test {}; add the missing file, or remove the other",
         folder.string(), test_images.empty() ? "labels" : "images",
         test_images.empty() ? "images" : "labels");
  }
  ImageShape shape, test_shape;
  Samples train = read_part(train_images, train_labels, shape), test;
  if (!test_images.empty()) {
    test = read_part(test_images, test_labels, test_shape);
    if (test_shape != shape) {
      fail(kIdxPlace, "{}: test images are {}, training images {}; they must agree", test_images.string(),
           to_string(test_shape), to_string(shape));
    }
  }
  return make_data_set(kIdxPlace, folder, shape, std::move(train), std::move(test));
}

}  // namespace lwsvm
