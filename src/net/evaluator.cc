#include "net/evaluator.h"

#include <algorithm>

namespace lwsvm {
namespace {

// Counts are exact in double.
LossSums of_all(Team& team, const LossSums& mine) {
  if (team.is_alone()) return mine;
  std::vector<double> sums{mine.loss, static_cast<double>(mine.correct), static_cast<double>(mine.samples)};
  add_up(team, sums);
  return {sums[0], static_cast<std::int64_t>(sums[1]), static_cast<std::int64_t>(sums[2])};
}

}  // namespace

std::int64_t evaluation_chunk(const Graph& graph, int from) {
  constexpr std::int64_t kMin = 2, kMax = 48, kGroup = 16, kBytes = 1 << 20;
  std::int64_t widest = 1;
  for (int index = from + 1; index < static_cast<int>(graph.nodes().size()); ++index) {
    const Node& node = graph.node(index);
    std::int64_t floats = element_count(node.shape);
    for (int input : node.inputs) floats += element_count(graph.node(input).shape);
    widest = std::max(widest, floats);
  }
  const std::int64_t fitting = kBytes / (widest * static_cast<std::int64_t>(sizeof(float)));
  const std::int64_t chunk = std::clamp(fitting, kMin, kMax);
  return group_size(graph, from) > 1 ? std::max(chunk / kGroup * kGroup, kGroup) : chunk;
}

Evaluator::Evaluator(const Graph& graph, const Threads& threads, int from, int target, Team& team)
    : graph_(graph),
      threads_(threads),
      from_(from),
      target_(target),
      chunk_(evaluation_chunk(graph, from)),
      team_(team) {}

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
  const std::int64_t chunks = (total + chunk_ - 1) / chunk_;
  const std::int64_t rest = total - (chunks - 1) * chunk_;
  if (total == 0) return;
  Compiled& full = compiled(std::min(chunk_, total));
  Compiled& last = compiled(rest);
  const std::int64_t size = element_count(graph_.node(from_ >= 0 ? from_ : graph_.inputs()[0]).shape);
  threads_.for_each(static_cast<int>(chunks), [&](int chunk, int worker) {
    Compiled& entry = chunk + 1 == chunks ? last : full;
    Workspace& workspace = entry.workspaces[static_cast<std::size_t>(worker)];
    const std::int64_t first = chunk * chunk_, samples = entry.program->samples();
    float* input = entry.program->input(workspace);
    for (std::int64_t i = 0; i < samples; ++i) source.read(first + i, input + i * size);
    entry.program->forward(workspace, PatternUse::ignore);
    visit(first, samples, entry.program->output(workspace));
  });
}

LossSums Evaluator::evaluate(const SampleSource& source, const Loss& loss) {
  std::vector<LossSums> sums(static_cast<std::size_t>((source.size() + chunk_ - 1) / chunk_));
  for_scores(source, [&](std::int64_t first, std::int64_t samples, const float* scores) {
    std::vector<std::int32_t> labels(static_cast<std::size_t>(samples));
    for (std::int64_t i = 0; i < samples; ++i) labels[static_cast<std::size_t>(i)] = source.label(first + i);
    sums[static_cast<std::size_t>(first / chunk_)] = loss.evaluate(scores, labels, nullptr, 1.0f);
  });
  LossSums total;
  for (const LossSums& part : sums) total.add(part);
  return of_all(team_, total);
}

}  // namespace lwsvm
