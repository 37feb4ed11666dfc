#include "lwsvm/layer_chunks.h"
#include "lwsvm/layer_models.h"

namespace lwsvm {
namespace {

class LayerFeatures final : public FeatureRows {
 public:
  LayerFeatures(LayerInputs& inputs, std::int64_t samples, const Threads& threads)
      : inputs_(inputs), samples_(samples), threads_(threads) {}

  std::int64_t samples() const override { return samples_; }
  std::int64_t width() const override { return inputs_.size(0); }
  const float* rows(std::span<const std::int32_t> samples, std::span<float> buffer) override {
    const auto size = static_cast<std::size_t>(width());
    inputs_.expect(samples);
    for_layer_chunks(samples, threads_,
                     [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
                       inputs_.fetch_inputs(part, buffer.data() + first * size, worker);
                     });
    return buffer.data();
  }

 private:
  LayerInputs& inputs_;
  std::int64_t samples_;
  Threads threads_;
};

}  // namespace

std::optional<DenseEnd> exact_end(const Graph& network, const Tail& tail,
                                  const LayerProblemOptions& options) {
  return options.exact_svm_layer ? dense_end(network, tail) : std::nullopt;
}

std::unique_ptr<FeatureRows> exact_features(LayerInputs& inputs, std::int64_t samples,
                                            const Threads& threads) {
  return std::make_unique<LayerFeatures>(inputs, samples, threads);
}

}  // namespace lwsvm
