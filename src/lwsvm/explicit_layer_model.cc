#include <algorithm>

#include "engine/elementwise.h"
#include "lwsvm/free_planes.h"
#include "lwsvm/layer_memory.h"
#include "lwsvm/layer_models.h"

namespace lwsvm {
namespace {

// Blocks are samples, or groups of consecutive samples where one psi per sample would not fit the memory.
class ExplicitLayerModel final : public ExplicitModel {
 public:
  ExplicitLayerModel(TailRunner& runner, const MarginMatrix& margins, std::uint64_t memory)
      : runner_(runner),
        planes_(runner, margins),
        slopes_(static_cast<std::size_t>(runner.threads().count())) {
    const std::uint64_t wanted = bytes_of_floats(runner.samples() * dimension());
    const std::uint64_t budget = std::max<std::uint64_t>(memory_for_blocks(memory), 1);
    group_ = static_cast<std::int64_t>(
        std::min((wanted + budget - 1) / budget, static_cast<std::uint64_t>(runner.samples())));
    group_ = std::max<std::int64_t>(group_, 1);
  }

  std::int64_t samples() const override { return runner_.samples(); }
  std::int64_t blocks() const override { return (samples() + group_ - 1) / group_; }
  std::int64_t dimension() const override { return runner_.layer().dimension(); }

  void planes(std::span<const std::int32_t> blocks, const Weights& w, ExplicitPlanes& out) override {
    runner_.layer().load(w.rounded);
    const auto n = static_cast<std::size_t>(dimension());
    chosen_.clear();
    owner_.clear();
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (std::int64_t i = blocks[b] * group_; i < std::min(samples(), (blocks[b] + 1) * group_); ++i) {
        chosen_.push_back(static_cast<std::int32_t>(i));
        owner_.push_back(b);
      }
    if (group_ == 1) {
      find(chosen_, out.rows.data(), out.offsets.data());
      return;
    }
    // Groups slice by slice: one psi per sample exists only for the samples of a slice.
    std::fill(out.offsets.begin(), out.offsets.end(), 0.0);
    std::fill(out.rows.begin(), out.rows.end(), 0.0f);
    for (std::size_t begin = 0; begin < chosen_.size(); begin += kSlice) {
      const std::size_t count = std::min(kSlice, chosen_.size() - begin);
      rows_.resize(count * n);
      offsets_.resize(count);
      find(std::span(chosen_).subspan(begin, count), rows_.data(), offsets_.data());
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t owner = owner_[begin + i];
        out.offsets[owner] += offsets_[i];
        add_to(rows_.data() + i * n, dimension(), out.rows.data() + owner * n);
      }
    }
  }
  std::optional<double> mean_loss(const Weights& w) override { return planes_.mean_loss(w); }

 private:
  static constexpr std::size_t kSlice = std::size_t{4} * kLayerChunk;

  void find(std::span<const std::int32_t> samples, float* rows, double* offsets) {
    const auto n = static_cast<std::size_t>(dimension());
    runner_.for_chunks(samples, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      std::vector<float>& slopes = slopes_[static_cast<std::size_t>(worker)];
      slopes.resize(part.size() * static_cast<std::size_t>(runner_.layer().output_size()));
      planes_.find(part, worker, slopes.data(), offsets + first);
      runner_.slope_rows(slopes.data(), part.size(), rows + first * n, worker);
    });
  }

  TailRunner& runner_;
  FreePlanes planes_;
  std::int64_t group_ = 1;
  std::vector<std::int32_t> chosen_;
  std::vector<std::size_t> owner_;
  std::vector<float> rows_;
  std::vector<double> offsets_;
  std::vector<std::vector<float>> slopes_;
};

}  // namespace

std::unique_ptr<ExplicitModel> explicit_layer_model(TailRunner& runner, const MarginMatrix& margins,
                                                    std::uint64_t memory) {
  return std::make_unique<ExplicitLayerModel>(runner, margins, memory);
}

}  // namespace lwsvm
