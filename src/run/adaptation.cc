#include "run/adaptation.h"

#include <algorithm>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "model/storage.h"
#include "report/result_json.h"
#include "run/centre.h"
#include "run/refine_choices.h"

namespace lwsvm::run {

HeadOptions Adaptation::head_options() const {
  HeadOptions options;
  options.balance = job.balance;
  options.batch = job.batch;
  options.seed = job.seed;
  options.stop_requested = interrupted;
  return options;
}

HeadRows Adaptation::rows(const SampleSource& source) const {
  return head_rows(tail.graph, tail.graph.node(head).inputs[0], source, threads);
}

void Adaptation::set_head(const LinearModel& found) {
  const ParameterRange range = tail.graph.node(head).trained;
  LWSVM_CHECK(range.size == std::ssize(found.weights) + std::ssize(found.biases));
  const std::span<float> w(tail.graph.parameters().data() + range.begin,
                           static_cast<std::size_t>(range.size));
  std::copy(found.weights.begin(), found.weights.end(), w.begin());
  std::copy(found.biases.begin(), found.biases.end(), w.begin() + std::ssize(found.weights));
  round_head();
}

void Adaptation::round_head() {
  const ParameterRange range = tail.graph.node(head).trained;
  round_to_storage(model, tail.node_of[static_cast<std::size_t>(head)],
                   {tail.graph.parameters().data() + range.begin, static_cast<std::size_t>(range.size)});
}

double Adaptation::regulariser(const std::vector<int>& changed) const {
  std::vector<int> old;
  std::ranges::copy_if(changed, std::back_inserter(old), [this](int node) { return node != head; });
  const std::vector<int> last{head};
  double value = Regulariser(tail.graph, state.lambda, last).value(tail.graph.parameters());
  if (!old.empty())
    value += Regulariser(tail.graph, state.deep_lambda, old, start).value(tail.graph.parameters());
  return value;
}

NetworkQuality Adaptation::quality(const std::vector<int>& changed) const {
  Evaluator evaluator(tail.graph, threads);
  const LossSums sums = evaluator.evaluate(samples.training(), loss);
  NetworkQuality found;
  found.objective = regulariser(changed) + sums.mean_loss();
  found.train_loss = sums.mean_loss();
  found.train_accuracy = sums.accuracy();
  if (samples.validation().size() > 0) {
    const LossSums validation = evaluator.evaluate(samples.validation(), loss);
    found.val_accuracy = validation.accuracy();
    found.val_loss = validation.mean_loss();
  }
  return found;
}

Quality Adaptation::with_test(const NetworkQuality& known) const {
  Quality result{known.objective, known.train_accuracy, {}, {}};
  if (known.val_accuracy >= 0) result.val_accuracy = known.val_accuracy;
  if (samples.test().size() > 0)
    result.test_accuracy = Evaluator(tail.graph, threads).evaluate(samples.test(), loss).accuracy();
  return result;
}

void solve_new_layer(Adaptation& run, Recorder& recorder) {
  const Stopwatch watch;
  recorder.on_open(1, run.tail.graph.node(run.head).name);
  const Stopwatch reading;
  const HeadRows training = run.rows(run.samples.training());
  const double read_seconds = reading.seconds();
  AdaptState& state = run.state;
  if (const std::optional<double> given = given_lambda("adapt", run.job.lambda)) {
    state.lambda = *given;
  } else {
    std::optional<HeadRows> judges;
    if (run.own_validation()) judges = run.rows(run.samples.validation());
    const HeadRows everything = judges || run.samples.left_out().size() == 0
                                    ? HeadRows()
                                    : joined(training, run.rows(run.samples.left_out()));
    const HeadChoice choice =
        choose_head_lambda(everything.rows() > 0 ? everything : training, judges ? &*judges : nullptr,
                           run.loss.margins(), run.head_options(), run.threads);
    stop_if_interrupted("choosing lambda");
    state.lambda = choice.lambda;
    state.cross_validated = choice.accuracy;
    std::string trials;
    for (const HeadTrial& trial : choice.trials)
      trials +=
          fmt::format("{}{:.2f}% at {:.2g}", trials.empty() ? "" : ", ", 100 * trial.accuracy, trial.lambda);
    run.messages.line("lambda {:.3g} by {} ({}{})", choice.lambda,
                      choice.folds > 1 ? fmt::format("{} folds of the training set", choice.folds)
                                       : std::string("the validation part"),
                      run.job.balance ? "mean of the classes' accuracies: " : "", trials);
  }
  const Stopwatch solving;
  const SolvedHead solved =
      solve_head(training, state.lambda, run.loss.margins(), run.head_options(), run.threads);
  const double solve_seconds = solving.seconds();
  stop_if_interrupted("solving the last layer");
  run.set_head(solved.model);
  const Stopwatch judging;
  const NetworkQuality found = run.quality({run.head});
  state.head = run.with_test(found);
  state.judging_seconds = judging.seconds();
  if (!run.own_validation() && run.samples.left_out().size() > 0)
    state.solving_seconds = read_seconds + solve_seconds;
  run.head_only = run.tail.graph.parameters();
  state.head_solved = true;
  state.head_seconds = watch.seconds();

  LayerUpdate update;
  update.pass = 1;
  update.layer = run.tail.graph.node(run.head).name;
  update.form = "exact";
  update.accepted = true;
  update.reason = "solved";
  update.epochs = solved.epochs;
  update.before = 0;  // of all zeros: the mean of the margins that are not met
  std::int64_t n = 0;
  for (const std::int32_t label : training.labels) {
    float worst = 0;
    for (int y = 0; y < run.loss.classes(); ++y) worst = std::max(worst, run.loss.margins()(y, label));
    update.before += worst;
    ++n;
  }
  update.before /= static_cast<double>(n);
  update.after = found.objective;
  update.actual = update.before - update.after;
  update.primal = found.objective;
  update.gap = solved.relative_gap * found.objective;
  update.dual = update.primal - update.gap;
  update.train_accuracy = found.train_accuracy;
  update.val_accuracy = found.val_accuracy;
  update.val_loss = found.val_loss;
  update.seconds = watch.seconds();
  ++state.moves;
  recorder.on_update(update);
}

bool can_learn_from_validation(const Adaptation& run) {
  return run.samples.left_out().size() > 0 && !run.own_validation();
}

bool solve_with_everything(Adaptation& run) {
  const HeadRows everything = joined(run.rows(run.samples.training()), run.rows(run.samples.left_out()));
  const SolvedHead solved =
      solve_head(everything, run.state.lambda, run.loss.margins(), run.head_options(), run.threads);
  if (interrupted()) return false;
  run.set_head(solved.model);
  return true;
}

std::vector<int> changed_layers(const Adaptation& run) {
  std::vector<int> layers;
  const Graph& graph = run.tail.graph;
  for (int node = static_cast<int>(graph.nodes().size()) - 1; node > 0; --node) {
    const ParameterRange range = graph.node(node).trained;
    const auto begin = graph.parameters().begin() + range.begin;
    if (node == run.head || !std::equal(begin, begin + range.size, run.start.begin() + range.begin))
      layers.push_back(node);
  }
  return layers;
}

// What the written file says of itself. With two lambdas, that of the new layer and that of the old ones, F
// cannot be told in it: then eval gives the loss alone.
void note_adaptation(const Adaptation& run, const std::vector<int>& changed, bool all_samples,
                     const std::string& output, Model& model) {
  if (changed.size() == 1) {
    const std::vector<int> layers{run.tail.node_of[static_cast<std::size_t>(changed[0])]};
    model.info.lambda = run.state.lambda;
    note_centre({}, Regulariser(model.graph, run.state.lambda, layers), output, model);
  }
  if (!run.own_validation())
    note_split(all_samples ? SplitChoice{0, run.task.choice.seed} : run.task.choice, model.info);
}

}  // namespace lwsvm::run
