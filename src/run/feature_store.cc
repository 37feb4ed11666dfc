#include "run/feature_store.h"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/interruptible_source.h"
#include "base/random.h"
#include "base/sample_subset.h"
#include "net/evaluator.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'L', 'W', 'S', 'V', 'M', 'F', 'E', 'A'};
constexpr std::uint32_t kFeatureVersion = 1;
constexpr std::size_t kKeyBytes = 64;
constexpr const char* kFeatureKind = "features";

struct FeatureHeader {
  char magic[8];
  std::uint32_t version, number_bytes;
  std::uint64_t rows, width;
  char key[kKeyBytes];
};
static_assert(sizeof(FeatureHeader) == 96);

// IEEE half precision, to the nearest, ties to even; beyond its range the largest.
std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const float size = std::min(std::abs(value), 65504.0f);
  if (size < std::bit_cast<float>(0x33000001u)) return sign;  // below half of the smallest
  if (size < std::bit_cast<float>(0x38800000u)) {             // subnormal: a multiple of 2^-24
    const float scaled = size * 16777216.0f;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
  }
  auto rest = std::bit_cast<std::uint32_t>(size);
  rest += 0xfffu + ((rest >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rest - 0x38000000u) >> 13));
}

float from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t rest = half & 0x7fffu;
  if (rest < 0x0400u) {
    const float size = static_cast<float>(rest) / 16777216.0f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
  }
  return std::bit_cast<float>(((rest << 13) + 0x38000000u) | sign);
}

FeatureHeader header_for(const FeatureOptions& options, std::int64_t rows, std::int64_t width) {
  LWSVM_CHECK(options.key.size() == kKeyBytes);
  FeatureHeader header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kFeatureVersion;
  header.number_bytes = options.half ? 2 : 4;
  header.rows = static_cast<std::uint64_t>(rows);
  header.width = static_cast<std::uint64_t>(width);
  std::memcpy(header.key, options.key.data(), kKeyBytes);
  return header;
}

std::uint32_t crc_of(std::uint32_t before, const void* data, std::size_t bytes) {
  return static_cast<std::uint32_t>(::crc32_z(before, static_cast<const unsigned char*>(data), bytes));
}

bool is_whole(const RowFile& file, const FeatureHeader& wanted, std::uint64_t bytes) {
  FeatureHeader header{};
  file.read(kCacheHead, &header, sizeof header);
  if (std::memcmp(&header, &wanted, sizeof header) != 0) return false;
  std::uint32_t crc = crc_of(0, &header, sizeof header), stored = 0;
  std::vector<char> part(std::size_t{1} << 20);
  std::uint64_t at = kCacheHead + sizeof header;
  const std::uint64_t end = at + bytes;
  while (at < end) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), end - at));
    file.read(at, part.data(), size);
    crc = crc_of(crc, part.data(), size);
    at += size;
  }
  file.read(end, &stored, sizeof stored);
  return stored == crc;
}

// Writes rows as they come, and the sum at the end.
class FeatureFile {
 public:
  FeatureFile(const fs::path& path, const FeatureOptions& options, const FeatureHeader& header)
      : file_(path), half_(options.half) {
    file_.write(cache_head(kFeatureKind, options.description));
    put(&header, sizeof header);
  }
  void add(const float* values, std::size_t count) {
    if (!half_) return put(values, count * sizeof(float));
    halves_.resize(count);
    std::transform(values, values + count, halves_.begin(), to_half);
    put(halves_.data(), count * sizeof(std::uint16_t));
  }
  void finish() {
    const std::uint32_t crc = crc_;
    file_.write(&crc, sizeof crc);
    file_.commit();
  }

 private:
  void put(const void* data, std::size_t bytes) {
    crc_ = crc_of(crc_, data, bytes);
    file_.write(data, bytes);
  }

  AtomicFile file_;
  bool half_;
  std::uint32_t crc_ = 0;
  std::vector<std::uint16_t> halves_;
};

}  // namespace

AllSamples::AllSamples(const DataSet& data, std::vector<ImageTransform> transforms)
    : data_(data),
      transforms_(std::move(transforms)),
      images_(static_cast<std::int64_t>(data.train.size())),
      copies_(images_ * std::ssize(transforms_)),
      validation_(static_cast<std::int64_t>(data.validation.size())),
      test_(static_cast<std::int64_t>(data.test.size())) {}

std::int32_t AllSamples::label(std::int64_t index) const {
  if (index < copies_) return data_.train.labels()[static_cast<std::size_t>(index % images_)];
  index -= copies_;
  if (index < validation_) return data_.validation.labels()[static_cast<std::size_t>(index)];
  return data_.test.labels()[static_cast<std::size_t>(index - validation_)];
}

void AllSamples::read(std::int64_t index, float* target) const {
  if (index < copies_) {
    const ImageTransform& transform = transforms_[static_cast<std::size_t>(index / images_)];
    const Samples& images =
        transform.crop > 0 ? data_.train_crops[static_cast<std::size_t>(transform.crop - 1)] : data_.train;
    images.read(static_cast<std::size_t>(index % images_), target);
    return apply(transform, data_.shape, target);
  }
  index -= copies_;
  if (index < validation_) return data_.validation.read(static_cast<std::size_t>(index), target);
  data_.test.read(static_cast<std::size_t>(index - validation_), target);
}

std::vector<std::int32_t> AllSamples::of_training(std::span<const std::int32_t> samples,
                                                  bool transformed) const {
  std::vector<std::int32_t> found;
  for (std::int64_t t = 0; t < (transformed ? transforms() : 1); ++t)
    for (const std::int32_t i : samples) found.push_back(static_cast<std::int32_t>(t * images_ + i));
  return found;
}

std::vector<std::int32_t> AllSamples::of_validation() const {
  std::vector<std::int32_t> found(static_cast<std::size_t>(validation_));
  std::iota(found.begin(), found.end(), static_cast<std::int32_t>(copies_));
  return found;
}

std::vector<std::int32_t> AllSamples::of_test() const {
  std::vector<std::int32_t> found(static_cast<std::size_t>(test_));
  std::iota(found.begin(), found.end(), static_cast<std::int32_t>(copies_ + validation_));
  return found;
}

FeatureStore::FeatureStore(const Graph& network, int node, const SampleSource& samples,
                           const FeatureOptions& options, const Threads& threads)
    : rows_(samples.size()), width_(element_count(network.node(node).shape)), half_(options.half) {
  if (options.cache && options.cache->usable())
    found_ = open_file(options, options.cache->path(kFeatureKind, options.key.substr(0, 32)));
  if (!found_ && !options.only_if_found) compute(network, node, samples, options, threads);
}

std::uint64_t FeatureStore::bytes() const {
  return static_cast<std::uint64_t>(rows_ * width_) * (half_ ? 2 : 4);
}

// Believed only if header, length and sum are right. What fits is then read into memory.
bool FeatureStore::open_file(const FeatureOptions& options, const fs::path& path) {
  std::error_code ignored;
  const FeatureHeader header = header_for(options, rows_, width_);
  const std::size_t expected = kCacheHead + sizeof header + bytes() + sizeof(std::uint32_t);
  if (fs::file_size(path, ignored) != expected || ignored) return false;
  std::unique_ptr<const RowFile> file;
  try {
    file = std::make_unique<const RowFile>(path);
  } catch (const Error&) {
    return false;
  }
  if (file->size() != expected || !is_whole(*file, header, bytes())) return false;
  CacheFolder::touch(path);
  file_ = std::move(file);
  if (static_cast<std::uint64_t>(rows_ * width_) * sizeof(float) > options.memory) return true;
  AlignedBuffer<float> values(static_cast<std::size_t>(rows_ * width_));
  for (std::int64_t row = 0; row < rows_; ++row) read(row, values.data() + row * width_);
  values_ = std::move(values);
  file_.reset();
  return true;
}

void FeatureStore::compute(const Graph& network, int node, const SampleSource& samples,
                           const FeatureOptions& options, const Threads& threads) {
  const bool fits = static_cast<std::uint64_t>(rows_ * width_) * sizeof(float) <= options.memory;
  fs::path path;
  if (options.cache && options.cache->usable())
    path = options.cache->path(kFeatureKind, options.key.substr(0, 32));
  if (!path.empty() && !options.cache->make_room(path, bytes() + 1024)) path.clear();
  if (!fits && path.empty())
    fail("features",
         "the values of layer '{}' for {} samples do not fit into --memory, and the --cache folder cannot "
         "take "
         "them; give more memory, another folder, or a larger --cache-limit",
         network.node(node).name, rows_);
  std::unique_ptr<FeatureFile> file;
  if (!path.empty()) {
    try {
      file = std::make_unique<FeatureFile>(path, options, header_for(options, rows_, width_));
    } catch (const Error&) {  // only a later command would miss it
      if (!fits) throw;
    }
  }
  if (fits) values_ = AlignedBuffer<float>(static_cast<std::size_t>(rows_ * width_));

  // Blocks of whole chunks of the evaluator, so that a row's bits do not depend on the blocks.
  constexpr std::int64_t kBlock = 400;
  std::vector<float> block;
  if (!fits) block.resize(static_cast<std::size_t>(std::min(kBlock, rows_) * width_));
  const InterruptibleSource guarded(samples, "computing features");
  Evaluator evaluator(network, threads, -1, node);
  for (std::int64_t begin = 0; begin < rows_; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, rows_ - begin);
    std::vector<std::int32_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), static_cast<std::int32_t>(begin));
    float* target = fits ? values_.data() + begin * width_ : block.data();
    evaluator.for_scores(SampleSubset(guarded, std::move(rows)),
                         [&](std::int64_t first, std::int64_t part, const float* values) {
                           std::copy_n(values, part * width_, target + first * width_);
                         });
    if (options.half)  // what a later command will read
      std::transform(target, target + count * width_, target, [](float x) { return from_half(to_half(x)); });
    if (file) file->add(target, static_cast<std::size_t>(count * width_));
    if (options.progress) options.progress(begin + count, rows_);
  }
  if (!file) return;
  file->finish();
  file.reset();
  if (!fits && !open_file(options, path))
    fail("features", "{}: what was written there cannot be read back; is the disk full?", path.string());
}

void FeatureStore::read(std::int64_t row, float* target) const {
  if (!file_) {
    std::copy_n(values_.data() + row * width_, width_, target);
    return;
  }
  if (!half_) return file_->read(place(row), target, row_bytes());
  constexpr std::int64_t kPart = 8192;
  std::uint16_t halves[kPart];
  for (std::int64_t j = 0; j < width_; j += kPart) {
    const std::int64_t count = std::min(kPart, width_ - j);
    file_->read(place(row) + 2 * static_cast<std::uint64_t>(j), halves, static_cast<std::size_t>(2 * count));
    std::transform(halves, halves + count, target + j, from_half);
  }
}

std::uint64_t FeatureStore::place(std::int64_t row) const {
  return kCacheHead + sizeof(FeatureHeader) + static_cast<std::uint64_t>(row) * row_bytes();
}

void FeatureStore::expect(std::span<const std::int32_t> rows) const {
  if (!file_) return;
  for (const std::int32_t row : rows) file_->expect(place(row), row_bytes());
}

void FeatureView::expect(std::span<const std::int32_t> samples) const {
  if (!store_.in_file()) return;
  std::vector<std::int32_t> rows;
  rows.reserve(samples.size());
  for (const std::int32_t sample : samples) rows.push_back(rows_[static_cast<std::size_t>(sample)]);
  store_.expect(rows);
}

}  // namespace lwsvm::run
