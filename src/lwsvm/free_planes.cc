#include "lwsvm/free_planes.h"

#include <numeric>

#include "engine/elementwise.h"
#include "ssvm/label_oracle.h"

namespace lwsvm {

FreePlanes::FreePlanes(TailRunner& runner, const MarginMatrix& margins)
    : runner_(runner),
      margins_(margins),
      buffers_(static_cast<std::size_t>(runner.threads().count())),
      found_(buffers_.size()) {}

FreePlanes::BestLabel FreePlanes::best_label(int truth, const float* blocks,
                                             std::vector<float>& buffer) const {
  const Decomposition& d = runner_.decomposition();
  buffer.assign(blocks, blocks + d.classes);
  BestLabel best;
  best.label = augment(margins_, truth, buffer.data());
  best.value = static_cast<double>(buffer[static_cast<std::size_t>(best.label)]);
  if (d.has_shared) best.value += static_cast<double>(blocks[d.shared_at() + truth]);
  return best;
}

const std::vector<FreePlanes::BestLabel>& FreePlanes::best_labels(std::span<const std::int32_t> part,
                                                                  int worker) {
  const auto width = static_cast<std::size_t>(runner_.decomposition().width());
  const float* blocks = runner_.forward(part, worker);
  std::vector<float>& buffer = buffers_[static_cast<std::size_t>(worker)];
  std::vector<BestLabel>& found = found_[static_cast<std::size_t>(worker)];
  found.clear();
  for (std::size_t i = 0; i < part.size(); ++i)
    found.push_back(best_label(runner_.label(part[i]), blocks + i * width, buffer));
  return found;
}

void FreePlanes::find(std::span<const std::int32_t> part, int worker, float* slopes, double* offsets) {
  const Decomposition& d = runner_.decomposition();
  const auto width = static_cast<std::size_t>(d.width());
  const std::int64_t size = runner_.layer().output_size();
  const std::vector<BestLabel>& found = best_labels(part, worker);
  float* seeds = runner_.clear_seeds(worker);
  for (std::size_t i = 0; i < part.size(); ++i) {
    seeds[i * width + static_cast<std::size_t>(found[i].label)] = 1.0f;
    if (d.has_shared)
      seeds[i * width + static_cast<std::size_t>(d.shared_at() + runner_.label(part[i]))] = 1.0f;
  }
  const float* convex = runner_.backward(worker);
  const float* outputs = runner_.buffers(worker).outputs.data();
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) * size;
    offsets[i] = found[i].value - runner_.concave_offset(part[i]) - dot(convex + at, outputs + at, size);
    subtract(convex + at, runner_.concave_slope(part[i]), size, slopes + at);
  }
}

double FreePlanes::mean_loss(const Weights& w) {
  runner_.layer().load(w.rounded);
  std::vector<std::int32_t> all(static_cast<std::size_t>(runner_.samples()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> losses(all.size());
  const std::int64_t size = runner_.layer().output_size();
  runner_.for_chunks(all, [&](std::size_t first, std::span<const std::int32_t> part, int worker) {
    const std::vector<BestLabel>& found = best_labels(part, worker);
    const float* outputs = runner_.buffers(worker).outputs.data();
    for (std::size_t i = 0; i < part.size(); ++i)
      losses[first + i] =
          found[i].value - runner_.concave_offset(part[i]) -
          dot(runner_.concave_slope(part[i]), outputs + static_cast<std::int64_t>(i) * size, size);
  });
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

}  // namespace lwsvm
