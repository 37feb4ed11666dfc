#include <algorithm>

#include "lwsvm/free_planes.h"
#include "lwsvm/layer_models.h"

namespace lwsvm {
namespace {

class FactoredLayerModel final : public FactoredModel {
 public:
  FactoredLayerModel(TailRunner& runner, const MarginMatrix& margins)
      : runner_(runner), planes_(runner, margins) {}

  std::int64_t samples() const override { return runner_.samples(); }
  std::int64_t outputs() const override { return runner_.layer().output_size(); }
  std::int64_t inputs() const override { return runner_.layer().input_size(); }
  Bias bias() const override { return runner_.layer().has_bias() ? Bias::yes : Bias::no; }

  void planes(std::span<const std::int32_t> samples, const Weights& w, FactoredPlanes& out) override {
    runner_.layer().load(w.rounded);
    const auto p = static_cast<std::size_t>(outputs()), q = static_cast<std::size_t>(inputs());
    runner_.for_chunks(samples, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      planes_.find(part, worker, out.slopes.data() + first * p, out.offsets.data() + first);
      std::copy_n(runner_.buffers(worker).outputs.data(), part.size() * p, out.outputs.data() + first * p);
      std::copy_n(runner_.buffers(worker).inputs.data(), part.size() * q,
                  out.input_buffer.data() + first * q);
    });
  }
  std::optional<double> mean_loss(const Weights& w) override { return planes_.mean_loss(w); }

 private:
  TailRunner& runner_;
  FreePlanes planes_;
};

}  // namespace

std::unique_ptr<FactoredModel> factored_layer_model(TailRunner& runner, const MarginMatrix& margins) {
  return std::make_unique<FactoredLayerModel>(runner, margins);
}

}  // namespace lwsvm
