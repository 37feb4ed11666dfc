#include <algorithm>

#include "lwsvm/layer_models.h"

namespace lwsvm {
namespace {

class LabelLayerModel final : public LabelModel {
 public:
  explicit LabelLayerModel(TailRunner& runner)
      : runner_(runner),
        factored_(runner.layer().output_size(), runner.layer().input_size(),
                  runner.layer().has_bias() ? Bias::yes : Bias::no, runner.threads()),
        explicit_(runner.layer().dimension(), runner.threads()) {}

  std::int64_t dimension() const override { return runner_.layer().dimension(); }

  void scores(std::span<const std::int32_t> samples, const Weights& w, std::span<float> out) override {
    runner_.layer().load(w.rounded);
    const auto classes = static_cast<std::size_t>(runner_.decomposition().classes);
    runner_.for_chunks(samples, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      const float* blocks = runner_.forward(part, worker);
      std::copy_n(blocks, part.size() * classes, out.data() + first * classes);
    });
  }

  const Directions& backward(std::span<const std::int32_t> samples, std::span<const std::int32_t> positions,
                             std::span<const float> seeds) override {
    OpenLayer& layer = runner_.layer();
    chosen_.clear();
    for (std::int32_t position : positions) chosen_.push_back(samples[static_cast<std::size_t>(position)]);
    const auto classes = static_cast<std::size_t>(runner_.decomposition().classes);
    const auto count = chosen_.size();
    if (layer.dense()) {
      slopes_.resize(count * static_cast<std::size_t>(layer.output_size()));
      inputs_.resize(count * static_cast<std::size_t>(layer.input_size()));
    } else {
      rows_.resize(count * static_cast<std::size_t>(layer.dimension()));
    }
    runner_.for_chunks(chosen_, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
      runner_.load_patterns(part, worker);
      std::copy_n(seeds.data() + first * classes, part.size() * classes, runner_.clear_seeds(worker));
      const float* slopes = runner_.backward(worker);
      if (layer.dense()) {
        std::copy_n(slopes, static_cast<std::int64_t>(part.size()) * layer.output_size(),
                    slopes_.data() + first * static_cast<std::size_t>(layer.output_size()));
        runner_.inputs().fetch_inputs(
            part, inputs_.data() + first * static_cast<std::size_t>(layer.input_size()), worker);
      } else {
        runner_.inputs().fetch_inputs(part, runner_.buffers(worker).inputs.data(), worker);
        runner_.slope_rows(slopes, part.size(),
                           rows_.data() + first * static_cast<std::size_t>(layer.dimension()), worker);
      }
    });
    if (layer.dense()) {
      factored_.set_batch(static_cast<int>(count), slopes_.data(), inputs_.data());
      return factored_;
    }
    explicit_.set_batch(static_cast<int>(count), rows_.data());
    return explicit_;
  }

  const FactoredDirections* short_directions() const override {
    return runner_.layer().dense() ? &factored_ : nullptr;
  }

 private:
  TailRunner& runner_;
  FactoredDirections factored_;
  ExplicitDirections explicit_;
  std::vector<std::int32_t> chosen_;
  std::vector<float> slopes_, inputs_, rows_;
};

}  // namespace

std::unique_ptr<LabelModel> label_layer_model(TailRunner& runner) {
  return std::make_unique<LabelLayerModel>(runner);
}

}  // namespace lwsvm
