// What a frozen part makes of every sample of a data set, computed once.
//
//   number t N + i   transform t of training sample i, of N      (t = 0: as it is)
//   then             the validation samples that come with the data, then the test samples
//
// so that it does not depend on how the training set is split. In a file of the cache folder, if there is
// one, that the next command finds again (base/cache_folder.h):
//
//   the cache's head
//   "LWSVMFEA"  u32 version  u32 bytes per number (4 or 2)  u64 samples  u64 numbers per sample
//   64 bytes of key
//   the numbers, row by row
//   u32 CRC-32 of everything before it but the cache's head
//
// A file that is cut off, damaged, of another version or another key is made anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cache_folder.h"
#include "base/row_file.h"
#include "base/sample_source.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "engine/tensor.h"
#include "engine/threads.h"
#include "net/graph.h"

namespace lwsvm::run {

// All samples of a data set, in the order above.
class AllSamples final : public SampleSource {
 public:
  AllSamples(const DataSet& data, std::vector<ImageTransform> transforms);

  std::int64_t size() const override { return copies_ + validation_ + test_; }
  std::int32_t label(std::int64_t index) const override;
  void read(std::int64_t index, float* target) const override;

  // Numbers of samples here.
  std::vector<std::int32_t> of_training(std::span<const std::int32_t> samples, bool transformed) const;
  std::vector<std::int32_t> of_validation() const;
  std::vector<std::int32_t> of_test() const;
  std::int64_t transforms() const { return std::ssize(transforms_); }

 private:
  const DataSet& data_;
  std::vector<ImageTransform> transforms_;
  std::int64_t images_, copies_, validation_, test_;
};

struct FeatureOptions {
  const CacheFolder* cache = nullptr;  // null: none
  std::string key;                     // of 64 characters: what the numbers depend on
  std::string description;             // for people, in the file's head
  bool half = false;                   // float16 in the file
  std::uint64_t memory = ~0ull;        // that they may take; beyond it they stay in the file
  bool only_if_found = false;          // then nothing is computed: see found()
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

class FeatureStore {
 public:
  // Finds the file or computes the values of `node`; throws Interrupted at Ctrl-C.
  FeatureStore(const Graph& network, int node, const SampleSource& samples, const FeatureOptions& options,
               const Threads& threads);
  FeatureStore(const FeatureStore&) = delete;
  FeatureStore& operator=(const FeatureStore&) = delete;

  std::int64_t size() const { return rows_; }
  std::int64_t width() const { return width_; }
  bool found() const { return found_; }              // in the file, nothing was computed
  bool in_file() const { return file_ != nullptr; }  // else in memory
  std::uint64_t bytes() const;
  void read(std::int64_t row, float* target) const;
  void expect(std::span<const std::int32_t> rows) const;  // they are read next

 private:
  bool open_file(const FeatureOptions& options, const std::filesystem::path& path);
  void compute(const Graph& network, int node, const SampleSource& samples, const FeatureOptions& options,
               const Threads& threads);

  std::uint64_t row_bytes() const { return static_cast<std::uint64_t>(width_) * (half_ ? 2 : 4); }
  std::uint64_t place(std::int64_t row) const;

  std::int64_t rows_, width_;
  bool found_ = false, half_ = false;
  AlignedBuffer<float> values_;          // in memory
  std::unique_ptr<const RowFile> file_;  // or here
};

// Some rows of a store as samples.
class FeatureView final : public SampleSource {
 public:
  FeatureView(const FeatureStore& store, const SampleSource& all, std::vector<std::int32_t> rows,
              std::int64_t copies = 1)
      : store_(store), all_(all), rows_(std::move(rows)), copies_(copies) {}

  std::int64_t size() const override { return std::ssize(rows_); }
  std::int64_t copies() const override { return copies_; }
  std::int32_t label(std::int64_t index) const override { return all_.label(at(index)); }
  void read(std::int64_t index, float* target) const override { store_.read(at(index), target); }
  void expect(std::span<const std::int32_t> samples) const override;

 private:
  std::int64_t at(std::int64_t index) const { return rows_[static_cast<std::size_t>(index)]; }

  const FeatureStore& store_;
  const SampleSource& all_;
  std::vector<std::int32_t> rows_;
  std::int64_t copies_;
};

}  // namespace lwsvm::run
