#include "lwsvm/tail_runner.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/units.h"
#include "engine/elementwise.h"
#include "lwsvm/layer_memory.h"

namespace lwsvm {

ProgramOptions tail_options(const Decomposition& decomposition) {
  ProgramOptions options;
  options.samples = kLayerChunk;
  options.target = decomposition.graph.output();
  options.input_gradients = {0};
  options.free_nodes = decomposition.free_nodes;
  options.record_patterns = true;
  options.image_layout = Layout::channels_last;
  return options;
}

TailRunner::TailRunner(const Graph& network, const Tail& tail, const SampleSource& source,
                       std::span<const std::int32_t> labels, const LayerProblemOptions& options,
                       const Threads& threads)
    : labels_(labels),
      threads_(threads),
      decomposition_(decompose(tail, options.free_layers, options.split)),
      program_(decomposition_.graph, tail_options(decomposition_)),
      layer_(network, tail.open_node, kLayerChunk),
      inputs_(network, tail, source, options.from, kLayerChunk,
              left_for_inputs(
                  tail_memory(options, decomposition_, program_, network, tail.open_node, source.size())
                      .without_inputs(),
                  options),
              threads),
      patterns_(program_.replayed_patterns(), source.size()) {
  program_.load(decomposition_.graph);
  for (int worker = 0; worker < threads.count(); ++worker) {
    WorkerBuffers buffers;
    buffers.workspace = program_.make_workspace();
    // Chunks of fewer samples leave the patterns after their own as they were: zeros, at worst, are
    // indices in range.
    std::fill(buffers.workspace.patterns.begin(), buffers.workspace.patterns.end(), std::uint8_t{0});
    buffers.inputs.resize(static_cast<std::size_t>(kLayerChunk * layer_.input_size()));
    buffers.outputs.resize(static_cast<std::size_t>(kLayerChunk * layer_.output_size()));
    std::fill(buffers.inputs.begin(), buffers.inputs.end(), 0.0f);
    buffers.scratch.resize(layer_.scratch_floats());
    buffers_.push_back(std::move(buffers));
  }
  record_at_anchor(weights_of(network, tail.open_node), options.memory);
}

void TailRunner::record_at_anchor(std::span<const float> anchor, std::uint64_t budget) {
  if (!decomposition_.labels_only) {
    const std::uint64_t wanted = slope_bytes_for(samples(), layer_.output_size());
    if (wanted > budget)
      fail("refine",
           "searching beyond this layer needs {} for its concave slopes; raise --memory or use --search "
           "labels",
           format_bytes(static_cast<double>(wanted)));
    concave_slopes_.resize(static_cast<std::size_t>(samples() * layer_.output_size()));
    concave_offsets_.resize(static_cast<std::size_t>(samples()));
  }
  layer_.load(anchor);
  std::vector<std::int32_t> all(static_cast<std::size_t>(samples()));
  std::iota(all.begin(), all.end(), 0);
  for_chunks(all, [&](std::size_t, std::span<const std::int32_t> part, int worker) {
    const float* blocks = forward(part, worker, PatternUse::record);
    for (std::size_t i = 0; i < part.size(); ++i)
      patterns_.store(part[i], buffers(worker).workspace.patterns.data(), static_cast<int>(i));
    if (decomposition_.labels_only) return;
    const int width = decomposition_.width(), concave = decomposition_.concave_at();
    for (std::size_t i = 0; i < part.size(); ++i)
      concave_offsets_[static_cast<std::size_t>(part[i])] = static_cast<double>(
          blocks[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(concave + label(part[i]))]);
    float* seed = clear_seeds(worker);
    for (std::size_t i = 0; i < part.size(); ++i)
      seed[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(concave + label(part[i]))] = 1.0f;
    const float* slopes = backward(worker);
    const std::int64_t size = layer_.output_size();
    for (std::size_t i = 0; i < part.size(); ++i) {
      const float* slope = slopes + static_cast<std::int64_t>(i) * size;
      std::copy_n(slope, size, concave_slopes_.data() + part[i] * size);
      concave_offsets_[static_cast<std::size_t>(part[i])] -=
          dot(slope, buffers(worker).outputs.data() + static_cast<std::int64_t>(i) * size, size);
    }
  });
}

const float* TailRunner::forward(std::span<const std::int32_t> samples, int worker, PatternUse use) {
  WorkerBuffers& l = buffers(worker);
  l.targets.clear();
  l.targets.push_back(l.inputs.data());
  for (int part = 1; part < inputs_.parts(); ++part) l.targets.push_back(program_.input(l.workspace, part));
  inputs_.fetch(samples, l.targets, worker);
  layer_.forward(l.inputs.data(), kLayerChunk, l.outputs.data(), l.scratch.data());
  std::copy_n(l.outputs.data(), kLayerChunk * layer_.output_size(), program_.input(l.workspace));
  if (use == PatternUse::replay) load_patterns(samples, worker);
  program_.forward(l.workspace, use);
  return program_.output(l.workspace);
}

void TailRunner::load_patterns(std::span<const std::int32_t> samples, int worker) {
  for (std::size_t i = 0; i < samples.size(); ++i)
    patterns_.load(samples[i], buffers(worker).workspace.patterns.data(), static_cast<int>(i));
}

float* TailRunner::clear_seeds(int worker) {
  float* seeds = program_.output_gradient(buffers(worker).workspace);
  std::fill_n(seeds, kLayerChunk * decomposition_.width(), 0.0f);
  return seeds;
}

const float* TailRunner::backward(int worker) {
  program_.backward(buffers(worker).workspace, nullptr);
  return program_.input_gradient(buffers(worker).workspace);
}

void TailRunner::slope_rows(const float* slopes, std::size_t count, float* rows, int worker) {
  WorkerBuffers& l = buffers(worker);
  layer_.slope_rows(l.inputs.data(), slopes, count, rows, l.scratch.data());
}

}  // namespace lwsvm
