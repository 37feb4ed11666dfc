#include "data/cifar.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "data/input_file.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCifarPlace = "cifar";
constexpr ImageShape kShape{3, 32, 32};
constexpr std::size_t kPixels = std::size_t{3} * 32 * 32;

std::vector<fs::path> train_files(const fs::path& folder, CifarKind kind) {
  std::vector<fs::path> files;
  if (kind == CifarKind::cifar100) {
    if (fs::exists(folder / "train.bin")) files.push_back(folder / "train.bin");
    return files;
  }
  for (int i = 1; fs::exists(folder / fmt::format("data_batch_{}.bin", i)); ++i) {
    files.push_back(folder / fmt::format("data_batch_{}.bin", i));
  }
  return files;
}

void append_records(const fs::path& path, CifarKind kind, std::vector<std::uint8_t>& pixels,
                    std::vector<std::int32_t>& labels) {
  const std::size_t label_bytes = kind == CifarKind::cifar100 ? 2 : 1;
  const int classes = kind == CifarKind::cifar100 ? 100 : 10;
  const std::size_t record = label_bytes + kPixels;
  const std::uint64_t bytes = regular_file_size(kCifarPlace, path);
  if (bytes == 0) fail(kCifarPlace, "{}: the file is empty; get it again", path.string());
  if (bytes % record != 0) {
    fail(kCifarPlace,
         "{}: {} bytes are not a whole number of records of {} bytes; the file is damaged, get it again",
         path.string(), bytes, record);
  }
  InputFile file(kCifarPlace, path);
  const std::vector<std::uint8_t> content = file.read_vector(bytes);
  file.expect_end();
  const std::size_t count = content.size() / record, before = labels.size();
  pixels.resize((before + count) * kPixels);
  labels.reserve(before + count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* from = content.data() + i * record;
    const int label = from[label_bytes - 1];
    if (label >= classes) {
      fail(kCifarPlace, "{}: label {} of record {} is out of range; labels are 0..{}", path.string(), label,
           i, classes - 1);
    }
    labels.push_back(label);
    std::memcpy(pixels.data() + (before + i) * kPixels, from + label_bytes, kPixels);
  }
}

Samples read_files(const std::vector<fs::path>& files, CifarKind kind) {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  for (const fs::path& file : files) append_records(file, kind, pixels, labels);
  return Samples(kShape, std::move(pixels), std::move(labels));
}

}  // namespace

bool is_cifar_folder(const fs::path& folder, CifarKind kind) {
  return !train_files(folder, kind).empty();
}

DataSet load_cifar_folder(const fs::path& folder, CifarKind kind) {
  const auto files = train_files(folder, kind);
  if (files.empty()) {
    fail(kCifarPlace, "{}: no {} here", folder.string(),
         kind == CifarKind::cifar100 ? "train.bin" : "data_batch_1.bin");
  }
  Samples train = read_files(files, kind), test;
  const fs::path test_file = folder / (kind == CifarKind::cifar100 ? "test.bin" : "test_batch.bin");
  if (fs::exists(test_file)) test = read_files({test_file}, kind);
  return make_data_set(kCifarPlace, folder, kShape, std::move(train), std::move(test),
                       kind == CifarKind::cifar100 ? 100 : 10);
}

}  // namespace lwsvm
