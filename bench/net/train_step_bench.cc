// Speed of one training step (forward, hinge loss, backward, Adam), for bench/compare_torch.py to set
// beside PyTorch's.
//
//   train_step_bench ARCH BATCH THREADS SECONDS
//
// prints one JSON object: samples/s and GFLOP/s of the best of several rounds, and the process's peak memory.
// On a busy machine with one thread: LWSVM_CLOCK=cpu.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "base/machine.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "model/arch.h"
#include "net/batch_runner.h"
#include "sgd/solver.h"

namespace lwsvm {
namespace {

class RandomImages final : public SampleSource {
 public:
  RandomImages(std::int64_t samples, std::int64_t size, int classes) : size_(size), classes_(classes) {
    Random random(1);
    pixels_.resize(static_cast<std::size_t>(samples * size));
    for (auto& pixel : pixels_) pixel = static_cast<std::uint8_t>(random.below(256));
  }
  std::int64_t size() const override { return static_cast<std::int64_t>(pixels_.size()) / size_; }
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(index % classes_);
  }
  void read(std::int64_t index, float* target) const override {
    for (std::int64_t i = 0; i < size_; ++i) target[i] = pixels_[static_cast<std::size_t>(index * size_ + i)];
  }

 private:
  std::int64_t size_;
  int classes_;
  std::vector<std::uint8_t> pixels_;
};

// Forward and backward to the weights everywhere, backward to the input everywhere but in the first
// convolution.
std::int64_t train_flops(const Graph& graph) {
  for (const Node& node : graph.nodes())
    if (node.has_weights()) {
      const Shape& input = graph.node(node.inputs[0]).shape;
      return 3 * graph.flops() - node.layer->flops(std::span(&input, 1), node.shape);
    }
  return 0;
}

int run(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: train_step_bench ARCH BATCH THREADS SECONDS\n");
    return 2;
  }
  const std::string arch = argv[1];
  const int batch = std::atoi(argv[2]), thread_count = std::atoi(argv[3]);
  const double budget = std::atof(argv[4]);
  const Shape shape = arch.starts_with("mnist") ? Shape{1, 28, 28} : Shape{3, 32, 32};
  Graph graph = build_network(arch, shape, 10, {128.0f}, {128.0f}, 0);
  const RandomImages images(batch, element_count(shape), 10);
  const Threads threads(thread_count);
  const Loss loss(LossKind::hinge, MarginMatrix(10));
  BatchRunner runner(graph, threads);
  const auto solver = make_solver("adam", 0.001, graph.parameters().size());
  std::vector<float> gradient(graph.parameters().size(), 0.0f);
  std::vector<std::int32_t> order(static_cast<std::size_t>(batch));
  for (int i = 0; i < batch; ++i) order[static_cast<std::size_t>(i)] = i;
  const auto step = [&] {
    runner.differentiate(images, order, loss, 0, gradient);
    solver->update(graph.parameters(), gradient, threads);
  };
  step();
  double best = 1e30;
  for (const Stopwatch watch; watch.seconds() < budget;) {
    const Stopwatch one;
    step();
    best = std::min(best, one.seconds());
  }
  const double samples_per_second = batch / best;
  fmt::print(
      R"({{"arch":"{}","batch":{},"threads":{},"samples_per_second":{:.1f},"train_flops_per_sample":{},"peak_bytes":{}}})"
      "\n",
      arch, batch, threads.count(), samples_per_second, train_flops(graph), peak_memory());
  return 0;
}

}  // namespace
}  // namespace lwsvm

int main(int argc, char** argv) {
  return lwsvm::run(argc, argv);
}
