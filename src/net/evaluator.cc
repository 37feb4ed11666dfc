#include "net/evaluator.h"

#include <algorithm>

namespace lwsvm {
namespace {

// Fixed, so that sums over samples do not depend on the number of threads; whole groups of interleaved
// samples.
constexpr std::int64_t kChunkSamples = 48;

// Counts are exact in double.
LossSums of_all(Team& team, const LossSums& mine) {
  if (team.is_alone()) return mine;
  std::vector<double> sums{mine.loss, static_cast<double>(mine.correct), static_cast<double>(mine.samples)};
  add_up(team, sums);
  return {sums[0], static_cast<std::int64_t>(sums[1]), static_cast<std::int64_t>(sums[2])};
}

}  // namespace

Evaluator::Evaluator(const Graph& graph, const Threads& threads, int from, int target, Team& team)
    : graph_(graph), threads_(threads), from_(from), target_(target), team_(team) {}

Evaluator::Compiled& Evaluator::compiled(std::int64_t samples) {
  Compiled& entry = programs_[samples];
  if (!entry.program) {
    ProgramOptions options;
    options.samples = static_cast<int>(samples);
    options.from = from_;
    options.target = target_;
    entry.program = std::make_unique<Program>(graph_, options);
    for (int i = 0; i < threads_.count(); ++i) entry.workspaces.push_back(entry.program->make_workspace());
  }
  entry.program->load(graph_);
  return entry;
}

void Evaluator::for_scores(const SampleSource& source, const Visit& visit) {
  const std::int64_t total = source.size();
  const std::int64_t chunks = (total + kChunkSamples - 1) / kChunkSamples;
  const std::int64_t rest = total - (chunks - 1) * kChunkSamples;
  if (total == 0) return;
  Compiled& full = compiled(std::min(kChunkSamples, total));
  Compiled& last = compiled(rest);
  const std::int64_t size = element_count(graph_.node(from_ >= 0 ? from_ : graph_.inputs()[0]).shape);
  threads_.for_each(static_cast<int>(chunks), [&](int chunk, int worker) {
    Compiled& entry = chunk + 1 == chunks ? last : full;
    Workspace& workspace = entry.workspaces[static_cast<std::size_t>(worker)];
    const std::int64_t first = chunk * kChunkSamples, samples = entry.program->samples();
    float* input = entry.program->input(workspace);
    for (std::int64_t i = 0; i < samples; ++i) source.read(first + i, input + i * size);
    entry.program->forward(workspace, PatternUse::ignore);
    visit(first, samples, entry.program->output(workspace));
  });
}

LossSums Evaluator::evaluate(const SampleSource& source, const Loss& loss) {
  std::vector<LossSums> sums(static_cast<std::size_t>((source.size() + kChunkSamples - 1) / kChunkSamples));
  for_scores(source, [&](std::int64_t first, std::int64_t samples, const float* scores) {
    std::vector<std::int32_t> labels(static_cast<std::size_t>(samples));
    for (std::int64_t i = 0; i < samples; ++i) labels[static_cast<std::size_t>(i)] = source.label(first + i);
    sums[static_cast<std::size_t>(first / kChunkSamples)] = loss.evaluate(scores, labels, nullptr, 1.0f);
  });
  LossSums total;
  for (const LossSums& part : sums) total.add(part);
  return of_all(team_, total);
}

}  // namespace lwsvm
