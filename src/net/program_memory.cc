// The plan of a program's arena: who uses whose memory, when each block is in use, and where it lies.
#include <algorithm>
#include <limits>

#include "net/program.h"

namespace lwsvm {

// A block of the arena, and when it is in use.
struct ArenaBlock {
  std::int64_t size = 0, offset = 0;
  int first = std::numeric_limits<int>::max();
  int last = -1;

  void covers(int time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }
  bool meets(const ArenaBlock& other) const { return first <= other.last && other.first <= last; }
};

namespace {

// Largest first, each at the lowest address where it meets nobody alive at the same time. Returns the total
// size.
std::int64_t assign_offsets(std::vector<ArenaBlock>& blocks) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i].last >= blocks[i].first) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].size > blocks[b].size; });
  std::vector<std::size_t> assigned;  // by offset
  std::int64_t total = 0;
  for (std::size_t index : order) {
    ArenaBlock& block = blocks[index];
    std::int64_t at = 0;
    for (std::size_t other : assigned) {
      const ArenaBlock& taken = blocks[other];
      if (!block.meets(taken)) continue;
      if (at + block.size <= taken.offset) break;
      at = std::max(at, taken.offset + taken.size);
    }
    block.offset = at;
    total = std::max(total, at + block.size);
    assigned.insert(
        std::upper_bound(assigned.begin(), assigned.end(), index,
                         [&](std::size_t a, std::size_t b) { return blocks[a].offset < blocks[b].offset; }),
        index);
  }
  return total;
}

}  // namespace

// In-place steps: the output takes over its input's memory, and on the way back the other way round. Only
// where nobody else reads that input.
void Program::share_memory() {
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i].root = values_[i].gradient_root = static_cast<int>(i);
  for (const Step& step : steps_) {
    const int input = step.inputs[0];
    const bool alone = value(input).consumers.size() == 1 && !is_target(input);
    const bool kept = runs_backward(step) && step.kernel->keeps_inputs();
    if (step.kernel->in_place() && alone && !kept) value(step.output).root = value(input).root;
  }
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const int input = step->inputs[0];
    const bool alone = value(input).consumers.size() == 1 && !is_target(input);
    if (step->kernel->in_place() && alone && runs_backward(*step) && value(input).differentiated)
      value(input).gradient_root = value(step->output).gradient_root;
  }
}

void Program::plan_memory() {
  std::vector<ArenaBlock> blocks(2 * values_.size());  // values, then gradients, then detours
  plan_values(blocks);
  if (differentiates_) {
    plan_gradients(blocks);
    plan_detours(blocks);
  }
  arena_floats_ = static_cast<std::size_t>(assign_offsets(blocks));
  for (Value& v : values_) {
    v.offset = blocks[static_cast<std::size_t>(v.root)].offset;
    v.gradient_offset = blocks[values_.size() + static_cast<std::size_t>(v.gradient_root)].offset;
  }
  for (Step& step : steps_)
    for (std::int64_t& detour : step.detour)
      if (detour >= 0) detour = blocks[static_cast<std::size_t>(detour)].offset;
}

void Program::plan_values(std::vector<ArenaBlock>& blocks) const {
  for (int v = 0; v < static_cast<int>(values_.size()); ++v) {
    ArenaBlock& block = blocks[static_cast<std::size_t>(value(v).root)];
    block.size = std::max(block.size, arena_size(v));
    block.covers(value(v).producer);
    for (int consumer : value(v).consumers) {
      const Step& step = steps_[static_cast<std::size_t>(consumer)];
      block.covers(consumer);
      if (runs_backward(step) && step.kernel->keeps_inputs()) block.covers(backward_time(consumer));
    }
    if (is_target(v)) block.covers(backward_time(-1));
  }
}

void Program::plan_gradients(std::vector<ArenaBlock>& blocks) const {
  const int loss_time = step_count();
  for (int v = 0; v < static_cast<int>(values_.size()); ++v) {
    if (!value(v).differentiated) continue;
    ArenaBlock& block = blocks[values_.size() + static_cast<std::size_t>(value(v).gradient_root)];
    block.size = std::max(block.size, arena_size(v));
    block.covers(backward_time(value(v).producer));  // an input's: until the end
    for (int consumer : value(v).consumers)
      if (runs_backward(steps_[static_cast<std::size_t>(consumer)])) block.covers(backward_time(consumer));
    if (v == target_value_) block.covers(loss_time);
  }
}

// A gradient that is there already is not overwritten by the next that is added to it: that one takes a
// detour.
void Program::plan_detours(std::vector<ArenaBlock>& blocks) {
  std::vector<bool> written(values_.size(), false);
  written[static_cast<std::size_t>(target_value_)] = true;  // by the loss
  for (int s = step_count() - 1; s >= 0; --s) {
    Step& step = steps_[static_cast<std::size_t>(s)];
    step.detour.assign(step.inputs.size(), -1);
    if (!runs_backward(step)) continue;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      const int input = step.inputs[k];
      if (!value(input).differentiated) continue;
      if (written[static_cast<std::size_t>(input)]) {
        step.detour[k] = static_cast<std::int64_t>(blocks.size());
        ArenaBlock& detour = blocks.emplace_back();
        detour.size = arena_size(input);
        detour.covers(backward_time(s));
      }
      written[static_cast<std::size_t>(input)] = true;
    }
  }
}

std::int64_t Program::arena_size(int index) const {
  return aligned(value(index).spec.floats(options_.samples));
}

Workspace Program::make_workspace() const {
  Workspace workspace;
  fit(workspace);
  return workspace;
}

void Program::fit(Workspace& workspace) const {
  workspace.arena.resize(std::max(workspace.arena.size(), arena_floats_));
  workspace.patterns.resize(std::max(workspace.patterns.size(), pattern_bytes_));
  workspace.scratch.resize(std::max(workspace.scratch.size(), scratch_floats_));
}

bool Program::is_target(int index) const {
  return index == target_value_ ||
         std::find(extra_values_.begin(), extra_values_.end(), index) != extra_values_.end();
}

}  // namespace lwsvm
