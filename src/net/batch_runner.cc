#include "net/batch_runner.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "engine/elementwise.h"

namespace lwsvm {
namespace {

// A seed for the random numbers of one chunk in one step. Mixed, not added: steps are numbered one after the
// other, and the chunk that begins at sample 5 must not drop in step 0 what the first chunk drops in step 5.
std::uint64_t chunk_draw(std::uint64_t draw, std::size_t begin) {
  return Random(draw, 0xd20b, begin).next();
}

}  // namespace

BatchRunner::BatchRunner(Graph& graph, const Threads& threads, BatchRunnerOptions options)
    : graph_(graph), threads_(threads), options_(std::move(options)) {
  if (!options_.learn.empty()) return;
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node)
    if (graph.node(node).trained.size > 0) options_.learn.push_back(node);
  if (options_.learn.empty()) fail("train", "the network has no parameters to learn");
}

// Enough chunks to keep the cores busy, few enough that their gradients are cheap to add. The number of cores
// is a property of the machine, not of --threads: the same machine gives the same bits.
std::size_t BatchRunner::chunk_count(std::size_t batch_size) {
  return std::min<std::size_t>(batch_size, std::max(8, 2 * hardware_threads()));
}

// Where the chunks of a batch end: evenly or, where samples go in groups, after whole groups (lanes without a
// sample are lost time), but for the last.
std::vector<std::size_t> BatchRunner::chunk_ends(std::size_t batch_size, std::size_t group) {
  const std::size_t most = chunk_count(batch_size);
  std::vector<std::size_t> ends;
  if (group == 1) {
    for (std::size_t i = 1; i <= most; ++i) ends.push_back(batch_size * i / most);
    return ends;
  }
  const std::size_t size = (batch_size + most * group - 1) / (most * group) * group;
  for (std::size_t end = size; end < batch_size; end += size) ends.push_back(end);
  ends.push_back(batch_size);
  return ends;
}

BatchRunner::Plan& BatchRunner::plan_for(std::size_t batch_size) {
  const auto known = plans_.find(batch_size);
  if (known != plans_.end()) return known->second;
  Plan& plan = plans_[batch_size];
  const std::vector<std::size_t> ends = chunk_ends(batch_size, group_size(graph_, options_.from));
  const std::size_t count = ends.size();
  const auto program_for = [&](std::size_t size) {
    for (auto& program : plan.programs)
      if (program->samples() == static_cast<int>(size)) return program.get();
    ProgramOptions options;
    options.samples = static_cast<int>(size);
    options.from = options_.from;
    options.training = options_.training;
    options.learn = options_.learn;
    plan.programs.push_back(std::make_unique<Program>(graph_, options));
    return plan.programs.back().get();
  };
  for (std::size_t i = 0; i < count; ++i) {
    Chunk chunk;
    chunk.begin = i > 0 ? ends[i - 1] : 0;
    chunk.size = ends[i] - chunk.begin;
    chunk.program = program_for(chunk.size);
    plan.chunks.push_back(chunk);
  }
  const bool staged = plan.chunks[0].program->stages() > 1;
  plan.workspaces.resize(staged ? count : static_cast<std::size_t>(threads_.count()));
  for (std::size_t i = 0; i < plan.workspaces.size(); ++i) {
    // A worker meets every program. None is largest in all respects: oneDNN's scratch need not grow with the
    // batch.
    if (staged)
      plan.chunks[i].program->fit(plan.workspaces[i]);
    else
      for (const auto& program : plan.programs) program->fit(plan.workspaces[i]);
  }
  for (auto& program : plan.programs)
    plan.packed_floats = std::max(plan.packed_floats, program->packed_gradient_floats());
  if (staged)
    for (std::size_t i = 0; i < count; ++i) plan.chunks[i].workspace = &plan.workspaces[i];
  plan.labels.resize(batch_size);
  return plan;
}

LossSums BatchRunner::differentiate(const SampleSource& source, std::span<const std::int32_t> batch,
                                    const Loss& loss, std::uint64_t draw, std::vector<float>& gradient) {
  LWSVM_CHECK(!batch.empty() && gradient.size() == graph_.parameters().size());
  Plan& plan = plan_for(batch.size());
  for (auto& program : plan.programs) program->load(graph_);
  packed_gradients_.resize(plan.packed_floats * plan.chunks.size());
  for (std::size_t i = 0; i < plan.chunks.size(); ++i)
    plan.chunks[i].packed_gradient = packed_gradients_.data() + i * plan.packed_floats;
  if (plan.chunks[0].workspace)
    run_in_stages(plan, source, batch, loss, draw);
  else
    run_through(plan, source, batch, loss, draw);
  add_up(plan, gradient);
  if (options_.training) plan.programs[0]->update_statistics(graph_, graph_.statistics().data());
  LossSums sums;
  for (const Chunk& chunk : plan.chunks) sums.add(chunk.sums);
  return sums;
}

void BatchRunner::read_chunk(const Chunk& chunk, Workspace& workspace, const SampleSource& source,
                             std::span<const std::int32_t> batch, Plan& plan) const {
  const int entrance = options_.from >= 0 ? options_.from : graph_.inputs()[0];
  const std::int64_t size = element_count(graph_.node(entrance).shape);
  float* input = chunk.program->input(workspace);
  for (std::size_t i = 0; i < chunk.size; ++i) {
    const std::int32_t sample = batch[chunk.begin + i];
    source.read(sample, input + static_cast<std::int64_t>(i) * size);
    plan.labels[chunk.begin + i] = source.label(sample);
  }
}

void BatchRunner::compute_loss(Chunk& chunk, Workspace& workspace, const Plan& plan, std::size_t batch_size,
                               const Loss& loss) const {
  const auto labels = std::span(plan.labels).subspan(chunk.begin, chunk.size);
  chunk.sums =
      loss.evaluate(chunk.program->output(workspace), labels, chunk.program->output_gradient(workspace),
                    1.0f / static_cast<float>(batch_size));
}

// Without batch normalisation a chunk needs nobody else: forward, loss and backward while it is in the cache.
void BatchRunner::run_through(Plan& plan, const SampleSource& source, std::span<const std::int32_t> batch,
                              const Loss& loss, std::uint64_t draw) {
  threads_.for_each(static_cast<int>(plan.chunks.size()), [&](int piece, int worker) {
    Chunk& chunk = plan.chunks[static_cast<std::size_t>(piece)];
    Workspace& workspace = plan.workspaces[static_cast<std::size_t>(worker)];
    read_chunk(chunk, workspace, source, batch, plan);
    chunk.program->forward(workspace, PatternUse::record, 0, nullptr, chunk_draw(draw, chunk.begin));
    compute_loss(chunk, workspace, plan, batch.size(), loss);
    chunk.program->backward(workspace, chunk.packed_gradient, 0);
  });
}

template <typename Gather, typename Settle>
void BatchRunner::with_sums(Plan& plan, int barrier, const Gather& gather, const Settle& settle) {
  const std::size_t width = barrier >= 0 ? plan.programs[0]->sums(barrier) : 0;
  std::vector<double> sums(width * plan.chunks.size());
  threads_.for_each(static_cast<int>(plan.chunks.size()), [&](int piece, int) {
    gather(plan.chunks[static_cast<std::size_t>(piece)],
           sums.data() + width * static_cast<std::size_t>(piece));
  });
  if (barrier < 0) return;
  for (std::size_t i = 1; i < plan.chunks.size(); ++i)
    for (std::size_t k = 0; k < width; ++k) sums[k] += sums[i * width + k];
  for (auto& program : plan.programs) settle(*program, std::span<const double>(sums).first(width));
}

void BatchRunner::run_in_stages(Plan& plan, const SampleSource& source, std::span<const std::int32_t> batch,
                                const Loss& loss, std::uint64_t draw) {
  const int stages = plan.programs[0]->stages();
  const auto size = static_cast<std::int64_t>(batch.size());
  for (int stage = 0; stage < stages; ++stage) {
    const int barrier = stage + 1 < stages ? stage : -1;
    with_sums(
        plan, barrier,
        [&](Chunk& chunk, double* sums) {
          if (stage == 0) read_chunk(chunk, *chunk.workspace, source, batch, plan);
          chunk.program->forward(*chunk.workspace, PatternUse::record, stage, sums,
                                 chunk_draw(draw, chunk.begin));
          if (barrier < 0) compute_loss(chunk, *chunk.workspace, plan, batch.size(), loss);
        },
        [&](Program& program, std::span<const double> sums) { program.settle(barrier, sums, size); });
  }
  for (int stage = stages - 1; stage >= 0; --stage)
    with_sums(
        plan, stage - 1,
        [&](Chunk& chunk, double* sums) {
          chunk.program->backward(*chunk.workspace, chunk.packed_gradient, stage, sums);
        },
        [&](Program& program, std::span<const double> sums) {
          program.settle_backward(stage - 1, sums, size);
        });
}

void BatchRunner::add_up(Plan& plan, std::vector<float>& gradient) {
  // Chunks of one size share an order of elements: add those up first, then put each kind into the graph's
  // order.
  for (std::size_t kind = 0; kind < plan.programs.size(); ++kind) {
    const Program& program = *plan.programs[kind];
    std::vector<const float*> others;
    float* total = nullptr;
    for (Chunk& chunk : plan.chunks) {
      if (chunk.program != &program) continue;
      if (total)
        others.push_back(chunk.packed_gradient);
      else
        total = chunk.packed_gradient;
    }
    constexpr std::int64_t range = 1 << 14;
    threads_.for_ranges(static_cast<std::int64_t>(program.packed_gradient_floats()), range,
                        [&](std::int64_t begin, std::int64_t end) {
                          for (const float* other : others) add_to(other + begin, end - begin, total + begin);
                        });
    if (kind == 0) {
      program.unpack_gradient(graph_, total, gradient.data());
      continue;
    }
    unpacked_.assign(gradient.size(), 0.0f);
    program.unpack_gradient(graph_, total, unpacked_.data());
    // What comes from sums over the batch is known to every program: count it once.
    for (int node : options_.learn) {
      const Node& learner = graph_.node(node);
      if (learner.statistics.size > 0) continue;
      add_to(unpacked_.data() + learner.trained.begin, learner.trained.size,
             gradient.data() + learner.trained.begin);
    }
  }
}

}  // namespace lwsvm
