#include "lwsvm/lambda_search.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "base/error.h"
#include "dc/tail.h"
#include "lwsvm/frozen_prefix.h"
#include "lwsvm/layer_problem.h"
#include "net/evaluator.h"
#include "ssvm/bcfw.h"

namespace lwsvm {
namespace {

std::vector<double> grid(const LambdaSearchOptions& options) {
  std::vector<double> lambdas;
  const double step = std::pow(10.0, -1.0 / options.per_decade);
  for (double lambda = options.largest; lambda > options.smallest * 0.999; lambda *= step)
    lambdas.push_back(lambda);
  return lambdas;
}

}  // namespace

int lambda_search_layer(const Graph& graph) {
  const std::vector<int> layers = refinable_layers(graph);
  if (layers.empty()) fail("lambda", "no layer of this network can be refined");
  return layers.back();
}

LambdaChoice choose_lambda(Graph& graph, const SampleSource& train, const SampleSource& validation,
                           const Loss& loss, const LambdaSearchOptions& options, const Threads& threads,
                           const std::function<bool(const LambdaTrial&)>& report, Team& team) {
  if (sum(team, validation.size()) == 0)
    fail("lambda", "--lambda auto needs validation samples; give --val, or a lambda");
  const int node = lambda_search_layer(graph);
  LayerProblemOptions problem_options;
  problem_options.memory = options.memory;
  LayerProblem problem(graph, node, train, loss.margins(), problem_options, threads);

  const std::vector<double> lambdas = grid(options);
  BcfwOptions solver_options;
  solver_options.lambda = lambdas.front();
  solver_options.mu = 0;
  solver_options.schedule.batch_size = std::max(1, options.batch / team.size());
  solver_options.rounds.caution = usual_caution(team);
  solver_options.average = false;
  solver_options.seed = options.seed;
  const std::vector<float> anchor = problem.anchor();
  LWSVM_CHECK(options.centre.empty() || options.centre.size() == anchor.size());
  BcfwSolver solver(problem.blocks(), std::vector<float>(anchor.size(), 0.0f), solver_options, threads,
                    options.centre, team);
  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.relative_gap = options.gap;
  stopping.max_epochs = options.max_epochs;

  const int from = frozen_prefix(graph, std::span(&node, 1));
  std::optional<PrefixSource> prefix;
  if (from >= 0) prefix.emplace(graph, from, validation).compute(graph, threads);
  const SampleSource& judges = prefix ? static_cast<const SampleSource&>(*prefix) : validation;
  Evaluator evaluator(graph, threads, from, -1, team);
  const auto weights = graph.parameters().begin() + graph.node(node).trained.begin;
  LambdaChoice choice;
  double best = -1;
  for (double lambda : lambdas) {
    solver.set_regularisation(lambda, 0);
    const Summary summary = solver.solve(stopping, [&](const SolveProgress&) {
      return !any(team, options.stop_requested && options.stop_requested());
    });
    if (summary.reason == StopReason::interrupted) break;
    if (summary.reason == StopReason::overflow)
      fail("lambda",
           "--lambda auto cannot solve the SVM of layer '{}': its inputs are too large for float32; give a "
           "lambda, or check how the pixels are normalised",
           graph.node(node).name);
    LambdaTrial trial;
    trial.lambda = lambda;
    trial.epochs = summary.epochs;
    trial.train_loss = summary.mean_loss;
    std::copy(solver.weights().rounded.begin(), solver.weights().rounded.end(), weights);
    trial.val_accuracy = evaluator.evaluate(judges, loss).accuracy();
    std::copy(anchor.begin(), anchor.end(), weights);
    choice.trials.push_back(trial);
    if (trial.val_accuracy > best) {
      best = trial.val_accuracy;
      choice.lambda = lambda;
    }
    if (any(team, !report(trial))) break;
  }
  return choice;
}

}  // namespace lwsvm
