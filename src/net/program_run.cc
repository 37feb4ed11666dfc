// A program at work: steps and stages forward and backward, and what goes in and comes out.
#include <algorithm>

#include "base/error.h"
#include "engine/elementwise.h"
#include "net/program.h"

namespace lwsvm {

void Program::load(const Graph& graph) {
  for (Step& step : steps_) {
    if (step.node < 0) continue;
    const Node& node = graph.node(step.node);
    step.kernel->pack(graph.parameters().data() + node.trained.begin,
                      graph.statistics().data() + node.statistics.begin);
  }
}

std::vector<PatternSection> Program::replayed_patterns() const {
  std::vector<PatternSection> sections;
  for (const Step& step : steps_) {
    const std::size_t bytes = step.kernel->pattern_bytes();
    if (bytes == 0 || step.is_free) continue;
    const TensorSpec& spec = value(step.output).spec;
    sections.push_back({step.pattern, bytes / static_cast<std::size_t>(spec.places(options_.samples)),
                        step.kernel->pattern_bits(), spec.lanes});
  }
  return sections;
}

float* Program::input(Workspace& workspace, int graph_input) const {
  return at(workspace, input_values_[static_cast<std::size_t>(graph_input)]);
}

const float* Program::output(const Workspace& workspace) const {
  return workspace.arena.data() + value(target_value_).offset;
}

const float* Program::extra_output(const Workspace& workspace, int index) const {
  return workspace.arena.data() + value(extra_values_[static_cast<std::size_t>(index)]).offset;
}

float* Program::output_gradient(Workspace& workspace) const {
  return gradient_at(workspace, target_value_);
}

const float* Program::input_gradient(const Workspace& workspace, int graph_input) const {
  const Value& input = value(input_values_[static_cast<std::size_t>(graph_input)]);
  LWSVM_CHECK(input.differentiated);
  return workspace.arena.data() + input.gradient_offset;
}

std::size_t Program::sums(int barrier) const {
  return steps_[barriers_[static_cast<std::size_t>(barrier)]].kernel->sums();
}

ForwardArgs Program::forward_args(const Step& step, Workspace& workspace, PatternUse use,
                                  std::uint64_t draw) const {
  workspace.input_pointers.clear();
  for (int input : step.inputs) workspace.input_pointers.push_back(at(workspace, input));
  ForwardArgs args;
  args.inputs = workspace.input_pointers;
  args.output = at(workspace, step.output);
  args.pattern = workspace.patterns.data() + step.pattern;
  args.use = use == PatternUse::replay && step.is_free ? PatternUse::record : use;
  args.scratch = workspace.scratch.data();
  args.draw = draw + static_cast<std::uint64_t>(step.node) * 0x9e3779b97f4a7c15ULL;
  return args;
}

void Program::forward(Workspace& workspace, PatternUse use, int stage, double* sums,
                      std::uint64_t draw) const {
  const std::size_t begin = stage == 0 ? 0 : barriers_[static_cast<std::size_t>(stage - 1)];
  const bool last = stage + 1 == stages();
  const std::size_t end = last ? steps_.size() : barriers_[static_cast<std::size_t>(stage)];
  for (std::size_t s = begin; s < end; ++s)
    steps_[s].kernel->forward(forward_args(steps_[s], workspace, use, draw));
  if (!last) steps_[end].kernel->gather(forward_args(steps_[end], workspace, use, draw), sums);
}

void Program::settle(int barrier, std::span<const double> sums, std::int64_t batch) {
  steps_[barriers_[static_cast<std::size_t>(barrier)]].kernel->settle(sums, batch);
}

BackwardArgs Program::backward_args(const Step& step, Workspace& workspace, float* packed_gradient) const {
  workspace.input_pointers.clear();
  workspace.gradient_pointers.clear();
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const int input = step.inputs[k];
    workspace.input_pointers.push_back(step.kernel->keeps_inputs() ? at(workspace, input) : nullptr);
    float* gradient = nullptr;
    if (value(input).differentiated)
      gradient =
          step.detour[k] >= 0 ? workspace.arena.data() + step.detour[k] : gradient_at(workspace, input);
    workspace.gradient_pointers.push_back(gradient);
  }
  BackwardArgs args;
  args.inputs = workspace.input_pointers;
  args.output_gradient = gradient_at(workspace, step.output);
  args.input_gradients = workspace.gradient_pointers;
  args.pattern = workspace.patterns.data() + step.pattern;
  args.parameter_gradient = step.learns && packed_gradient ? packed_gradient + step.packed : nullptr;
  args.scratch = workspace.scratch.data();
  return args;
}

void Program::backward_step(const Step& step, Workspace& workspace, float* packed_gradient) const {
  step.kernel->backward(backward_args(step, workspace, packed_gradient));
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.detour[k] >= 0)
      add_to(workspace.arena.data() + step.detour[k], value(step.inputs[k]).spec.floats(options_.samples),
             gradient_at(workspace, step.inputs[k]));
}

void Program::backward(Workspace& workspace, float* packed_gradient, int stage, double* sums) const {
  const bool last = stage + 1 == stages();
  const std::size_t top = last ? steps_.size() : barriers_[static_cast<std::size_t>(stage)] + 1;
  const std::size_t bottom = stage == 0 ? 0 : barriers_[static_cast<std::size_t>(stage - 1)] + 1;
  for (std::size_t s = top; s-- > bottom;)
    if (runs_backward(steps_[s])) backward_step(steps_[s], workspace, packed_gradient);
  if (stage == 0) return;
  const Step& barrier = steps_[bottom - 1];
  if (runs_backward(barrier))
    barrier.kernel->gather_backward(backward_args(barrier, workspace, packed_gradient), sums);
  else
    std::fill_n(sums, barrier.kernel->sums(), 0.0);
}

void Program::settle_backward(int barrier, std::span<const double> sums, std::int64_t batch) {
  steps_[barriers_[static_cast<std::size_t>(barrier)]].kernel->settle_backward(sums, batch);
}

void Program::unpack_gradient(const Graph& graph, const float* packed, float* gradient) const {
  for (const Step& step : steps_) {
    if (!step.learns) continue;
    float* target = gradient + graph.node(step.node).trained.begin;
    step.kernel->unpack_gradient(packed + step.packed, target);
    step.kernel->gradient_from_sums(target);
  }
}

void Program::update_statistics(const Graph& graph, float* statistics) const {
  for (std::size_t s : barriers_)
    steps_[s].kernel->update_statistics(statistics + graph.node(steps_[s].node).statistics.begin);
}

}  // namespace lwsvm
