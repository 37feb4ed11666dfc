#include "run/adapt_deeper.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "lwsvm/refine_state.h"
#include "model/storage.h"
#include "net/evaluator.h"
#include "run/adapt_copies.h"
#include "run/adapt_stages.h"

namespace lwsvm::run {
namespace {

// About so many samples are looked at, in at least and at most so many passes: a few photos make few steps.
constexpr double kSamplesSeen = 20000, kMinPasses = 12, kMaxPasses = 100;
constexpr double kShareOfSearch = 0.55;  // of the time that is left, if all is made again with all samples

RefineOptions stage_options(const Adaptation& run, const StageNetwork& stage, std::vector<int> layers,
                            const SampleSource& samples) {
  std::ranges::replace(layers, run.head, stage.head);
  RefineOptions options;
  options.layers = std::move(layers);
  options.lambda = stage.lambda;
  options.centre = run.start;  // the new layer's are zeros, of whatever scale
  options.batch = run.job.batch;
  options.seed = run.job.seed + 101 * run.state.stage;
  options.memory = parse_bytes(run.job.memory, "memory") / 2;
  options.moves = Moves::sweeps;
  const std::int64_t photos = samples.size() / samples.copies();
  if (samples.copies() > 1) options.judged = photos;
  options.one_sweep = true;
  options.few_judges = true;
  options.passes =
      static_cast<int>(std::clamp(kSamplesSeen / static_cast<double>(photos), kMinPasses, kMaxPasses));
  options.keep = Keep::last;
  options.as_stored = [&run, &stage](int node, std::span<float> weights) {
    if (node != stage.head)
      return round_to_storage(run.model, run.tail.node_of[static_cast<std::size_t>(node)], weights);
    return false;  // when all is done
  };
  return options;
}

std::string layer_names(const Graph& graph, const std::vector<int>& layers) {
  std::vector<std::string> names;
  names.reserve(layers.size());
  for (const int node : layers) names.push_back(graph.node(node).name);
  if (names.size() > 4)
    return fmt::format("{}, {}, ... {} ({} layers)", names[0], names[1], names.back(), names.size());
  return fmt::format("{}", fmt::join(names, ", "));
}

// Which of the samples a network is right about.
std::vector<char> right_answers(const Graph& graph, const SampleSource& samples, const Threads& threads) {
  const auto classes = static_cast<std::ptrdiff_t>(element_count(graph.node(graph.scores()).shape));
  std::vector<char> right(static_cast<std::size_t>(samples.size()));
  Evaluator(graph, threads)
      .for_scores(samples, [&](std::int64_t first, std::int64_t count, const float* scores) {
        for (std::int64_t i = 0; i < count; ++i) {
          const float* row = scores + i * classes;
          right[static_cast<std::size_t>(first + i)] =
              std::max_element(row, row + classes) - row == samples.label(first + i);
        }
      });
  return right;
}

// By accuracy and loss on the validation part: nothing that chance alone would make of it is lost, and
// something is gained.
bool is_worth_it(const NetworkQuality& before, const NetworkQuality& after, std::int64_t samples) {
  const double error =
      std::sqrt(before.val_accuracy * (1 - before.val_accuracy) / static_cast<double>(samples));
  return after.val_accuracy >= before.val_accuracy - error / 2 &&
         (after.val_accuracy > before.val_accuracy || after.val_loss < 0.98 * before.val_loss);
}

bool has_moved(const Refiner& refiner) {
  return refiner.updates() > refiner.rejected();
}

bool is_better(const Adaptation& run, const StageNetwork& stage, const Refiner& refiner) {
  const SampleSource& judges = run.samples.validation();
  if (!has_moved(refiner)) return false;
  if (!run.state.own_copies) return is_worth_it(refiner.start(), refiner.current(), judges.size());
  const std::vector<char> before = right_answers(run.tail.graph, judges, run.threads);
  const std::vector<char> after = right_answers(stage.graph, judges, run.threads);
  std::int64_t won = 0, lost = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    won += after[i] > before[i];
    lost += after[i] < before[i];
  }
  return is_beyond_doubt(won, lost);
}

// Goes on with a saved refiner's work, or begins.
RefineEnd run_stage(const Adaptation& run, Refiner& refiner, const StageNetwork& stage,
                    const SampleSource& samples, const RefineOptions& options, std::optional<SavedRun>& saved,
                    Recording& recording, Refiner*& current) {
  if (saved && saved->checkpoint.has("refine.parameters")) {
    check_refine_state(saved->checkpoint, stage.graph.parameters().size(), options.layers.size(),
                       samples.size() / samples.copies());
    refiner.restore(std::move(saved->checkpoint));
    saved.reset();
  } else {
    run.messages.line("opened: {}; lambda {:.3g} around the network as it was",
                      layer_names(stage.graph, options.layers), stage.lambda);
  }
  current = &refiner;
  recording.recorder().begin_refining(options);
  const RefineEnd end = refiner.run(recording.recorder());
  if (end == RefineEnd::stopped) recording.save();  // with the refiner's state: a resumed run goes on there
  current = nullptr;
  return end;
}

// A stage with the training part, judged on the validation part. Where it is better it becomes the network.
RefineEnd try_stage(Adaptation& run, const std::vector<int>& layers, double seconds_left,
                    std::optional<SavedRun>& saved, Recording& recording, Refiner*& current) {
  AdaptState& state = run.state;
  StageNetwork stage = stage_network(run.tail, run.head, layers, run.start, state.lambda);
  const SampleSource& samples = run.samples.with_copies();
  const RefineOptions options = stage_options(run, stage, layers, samples);
  Refiner refiner(stage.graph, samples, &run.samples.validation(), run.loss, options, run.threads);
  const RefineEnd end = run_stage(run, refiner, stage, samples, options, saved, recording, current);
  refiner.keep_chosen(seconds_left);
  state.moves += refiner.updates();
  state.rejected += refiner.rejected();
  if (!is_better(run, stage, refiner)) return end;
  stage.put_back(run.tail.graph);
  run.round_head();
  state.deep_lambda = stage.lambda;
  state.radius = refiner.radius();
  state.passes = refiner.pass();
  ++state.improved;
  return end;
}

// The stage that was better, made again from the network with its new layer alone, the validation samples
// among those that it learns from. There is nothing to judge it by but F; the recipe was judged.
RefineEnd move_with_everything(Adaptation& run, const std::vector<int>& layers,
                               std::optional<SavedRun>& saved, Recording& recording, Refiner*& current) {
  AdaptState& state = run.state;
  run.messages.line("once more with the {} validation samples",
                    run.samples.left_out().size() / run.samples.left_out().copies());
  const std::vector<float> moved = run.tail.graph.parameters();
  run.tail.graph.parameters() = run.head_only;
  const bool solved = solve_with_everything(run);
  StageNetwork stage = stage_network(run.tail, run.head, layers, run.start, state.lambda);
  run.tail.graph.parameters() = moved;
  if (!solved) return RefineEnd::stopped;
  const SampleSource& samples = run.samples.everything_with_copies();
  RefineOptions options = stage_options(run, stage, layers, samples);
  options.passes = state.passes;
  options.radius = state.radius;
  Refiner refiner(stage.graph, samples, nullptr, run.loss, options, run.threads);
  const RefineEnd end = run_stage(run, refiner, stage, samples, options, saved, recording, current);
  refiner.keep_chosen();
  if (end == RefineEnd::stopped) return end;
  state.moves += refiner.updates();
  state.rejected += refiner.rejected();
  if (!has_moved(refiner)) return end;
  stage.put_back(run.tail.graph);
  run.round_head();
  state.moved_again = true;
  return end;
}

}  // namespace

std::string refine_deeper(Adaptation& run, const std::vector<std::vector<int>>& stages, DeeperTime time,
                          std::optional<SavedRun>& saved, Recording& recording, Refiner*& current) {
  AdaptState& state = run.state;
  if (stages.empty()) return "solved";
  const bool twice = can_learn_from_validation(run);
  time.policy.reserve(time.reserve);
  const double left = time.policy.seconds_left();
  if (time.limited && twice) time.policy.reserve(time.reserve + (1 - kShareOfSearch) * left);
  RefineEnd end = RefineEnd::passes_done;
  while (!state.stages_over) {
    const std::vector<int>& layers = stages[stages.size() - 1 - state.stage];
    end = try_stage(run, layers, time.policy.seconds_left(), saved, recording, current);
    if (end == RefineEnd::stopped) return std::string(to_string(end));
    if (state.improved > 0) {
      state.stages_over = true;
    } else {
      run.messages.line("no better by validation with {}", layer_names(run.tail.graph, layers));
      if (end == RefineEnd::out_of_time) break;  // with more time it is tried again
      state.stages_over = ++state.stage == stages.size();
    }
    recording.save();
  }
  time.policy.reserve(time.reserve);
  if (twice && state.improved > 0 && !state.moved_again) {
    end = move_with_everything(run, stages[stages.size() - 1 - state.stage], saved, recording, current);
    if (end == RefineEnd::stopped) return std::string(to_string(end));
    recording.save();
  }
  if (end == RefineEnd::out_of_time) return std::string(to_string(end));
  return state.improved > 0 ? "all passes done" : "no better on the validation part with more layers";
}

}  // namespace lwsvm::run
