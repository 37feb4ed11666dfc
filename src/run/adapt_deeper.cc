#include "run/adapt_deeper.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "lwsvm/refine_state.h"
#include "model/storage.h"
#include "run/adapt_stages.h"

namespace lwsvm::run {
namespace {

constexpr int kPasses = 12, kTimedPasses = 100;

RefineOptions stage_options(const Adaptation& run, const StageNetwork& stage, std::vector<int> layers,
                            bool timed) {
  std::ranges::replace(layers, run.head, stage.head);
  const SampleSource& training = run.samples.training();
  RefineOptions options;
  options.layers = std::move(layers);
  options.lambda = stage.lambda;
  options.centre = run.start;  // the new layer's are zeros, of whatever scale
  options.batch = run.job.batch;
  options.seed = run.job.seed + 101 * run.state.stage;
  options.memory = parse_bytes(run.job.memory, "memory") / 2;
  options.moves = Moves::sweeps;
  if (training.copies() > 1) options.judged = training.size() / training.copies();
  options.passes = timed ? kTimedPasses : kPasses;
  options.patience = 3;
  options.as_stored = [&run, &stage](int node, std::span<float> weights) {
    if (node != stage.head)
      return round_to_storage(run.model, run.tail.node_of[static_cast<std::size_t>(node)], weights);
    return false;  // when all is done
  };
  return options;
}

std::string layer_names(const Adaptation& run, const std::vector<int>& layers) {
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const int node : layers) names.push_back(run.tail.graph.node(node).name);
  if (names.size() > 4)
    return fmt::format("{}, {}, ... {} ({} layers)", names[0], names[1], names.back(), names.size());
  return fmt::format("{}", fmt::join(names, ", "));
}

// By accuracy and loss on the validation part: nothing that chance alone would make of it is lost, and
// something is gained.
bool is_worth_it(const NetworkQuality& before, const NetworkQuality& after, std::int64_t samples) {
  const double error =
      std::sqrt(before.val_accuracy * (1 - before.val_accuracy) / static_cast<double>(samples));
  return after.val_accuracy >= before.val_accuracy - error / 2 &&
         (after.val_accuracy > before.val_accuracy || after.val_loss < 0.98 * before.val_loss);
}

}  // namespace

std::string refine_deeper(Adaptation& run, const std::vector<std::vector<int>>& stages, DeeperTime time,
                          std::optional<SavedRun>& saved, Recording& recording, Refiner*& current) {
  AdaptState& state = run.state;
  if (stages.empty()) return "solved";
  const std::int64_t judges = run.samples.validation().size();
  time.policy.reserve(time.reserve);
  while (!state.stages_over) {
    const std::vector<int>& layers = stages[stages.size() - 1 - state.stage];
    StageNetwork stage = stage_network(run.tail, run.head, layers, run.start, state.lambda);
    const RefineOptions options = stage_options(run, stage, layers, time.limited);
    Refiner refiner(stage.graph, run.samples.training(), &run.samples.validation(), run.loss, options,
                    run.threads);
    if (saved && saved->checkpoint.has("refine.parameters")) {
      check_refine_state(saved->checkpoint, stage.graph.parameters().size(), layers.size(),
                         run.samples.training().size() / run.samples.training().copies());
      refiner.restore(std::move(saved->checkpoint));
      saved.reset();
    } else {
      run.messages.line("opened: {}; lambda {:.3g} around the network as it was", layer_names(run, layers),
                        stage.lambda);
    }
    current = &refiner;
    recording.recorder().begin_refining(options);
    const RefineEnd end = refiner.run(recording.recorder());
    const bool over = end != RefineEnd::stopped && end != RefineEnd::out_of_time;
    if (!over) recording.save();  // with the refiner's state: a resumed run goes on there
    current = nullptr;
    refiner.keep_chosen(time.policy.seconds_left());
    const bool better = refiner.best_move() > 0 && is_worth_it(refiner.start(), refiner.current(), judges);
    if (better) {
      stage.put_back(run.tail.graph);
      run.round_head();
      state.deep_lambda = stage.lambda;
      ++state.improved;
    }
    if (!over) return std::string(to_string(end));
    state.moves += refiner.updates();
    state.rejected += refiner.rejected();
    state.stages_over = better || ++state.stage == stages.size();
    if (!better) run.messages.line("no better by validation with {}", layer_names(run, layers));
    recording.save();
  }
  return state.improved > 0 ? "all passes done" : "no better on the validation part with more layers";
}

}  // namespace lwsvm::run
