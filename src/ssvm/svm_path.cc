#include "ssvm/svm_path.h"

#include "base/error.h"

namespace lwsvm {

SvmPath::SvmPath(std::span<const float> features, std::int64_t width, std::span<const std::int32_t> labels,
                 const MarginMatrix& margin, int batch, std::uint64_t seed, const Threads& threads)
    : classes_(margin.classes()),
      width_(width),
      rows_(features.data(), std::ssize(labels), width),
      layer_(rows_, labels, margin, threads) {
  BcfwOptions options;
  options.schedule.batch_size = batch;
  options.average = false;
  options.seed = seed;
  solver_ = std::make_unique<BcfwSolver>(
      layer_, std::vector<float>(static_cast<std::size_t>(layer_.dimension()), 0.0f), options, threads);
}

Summary SvmPath::solve(double lambda, double relative_gap, int max_epochs, const Observer& observer) {
  solver_->set_regularisation(lambda, 0);
  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.relative_gap = relative_gap;
  stopping.max_epochs = max_epochs;
  const Summary summary = solver_->solve(stopping, observer);
  if (summary.reason == StopReason::overflow)
    fail("svm", "the features are too large for float32; check how the pixels are normalised (--normalize)");
  return summary;
}

LinearModel SvmPath::model() const {
  const Weights weights = solver_->weights();
  const auto& w = weights.rounded;
  const auto split = w.begin() + classes_ * width_;
  return {classes_, width_, {w.begin(), split}, {split, w.end()}};
}

}  // namespace lwsvm
