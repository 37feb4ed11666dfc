#include "run/refine_choices.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/interruptible_source.h"
#include "base/sample_part.h"
#include "base/units.h"
#include "dc/tail.h"
#include "lwsvm/lambda_search.h"
#include "model/storage.h"
#include "run/centre.h"

namespace lwsvm::run {
namespace {

// Of the layer whose SVM is solved; if that is not opened and so has no centre, it stays near where it is.
std::vector<float> searched_centre(const Graph& graph, const RefineOptions& options) {
  if (options.centre.empty()) return {};
  const int node = lambda_search_layer(graph);
  const bool opened = std::ranges::find(options.layers, node) != options.layers.end();
  const std::vector<float>& weights = opened ? options.centre : graph.parameters();
  const auto begin = weights.begin() + graph.node(node).trained.begin;
  return {begin, begin + graph.node(node).trained.size};
}

double searched_lambda(const RefineJob& settings, Model& model, const RefineOptions& refine, const Task& task,
                       const Threads& threads, Messages& terminal, Team& team) {
  terminal.line("lambda auto: the last layer's SVM for a grid of lambdas, judged on {} validation samples",
                format_count(task.validation.size()));
  LambdaSearchOptions options;
  options.centre = searched_centre(model.graph, refine);
  options.batch = settings.refine.batch;
  options.seed = settings.refine.seed;
  options.memory = parse_bytes(settings.memory, "memory");
  options.stop_requested = interrupted;
  constexpr const char* doing = "choosing lambda";
  const SamplePart own_training(task.training, team), own_validation(task.validation, team);
  const InterruptibleSource training(own_training, doing), validation(own_validation, doing);
  const LambdaChoice choice = choose_lambda(
      model.graph, training, validation, task.loss, options, threads,
      [&](const LambdaTrial& t) {
        terminal.line("  lambda {:<8.3g} val {:6.2f}%  training loss {:.4f}  {} epochs", t.lambda,
                      100 * t.val_accuracy, t.train_loss, t.epochs);
        return !interrupted();
      },
      team);
  stop_if_interrupted(doing);  // the best of half a grid would be another run
  terminal.line("lambda {:.3g}: best on the validation part, ties to the larger", choice.lambda);
  return choice.lambda;
}

// A foreign network has no lambda. Around zero: one with which the opened layers' regulariser weighs as much
// as the loss, within reason.
double balanced_lambda(const Graph& graph, std::span<const int> layers, double hinge) {
  const double half_square = Regulariser(graph, 1.0, layers).half_square(graph.parameters());
  return std::clamp(hinge / std::max(half_square, 1e-30), 1e-6, 1e-3);
}

// Around the start: one with which moving the opened layers as far as they are long costs a part of what a
// wrong answer costs. So it has the dimension of loss over weights squared and follows a network whose
// weights or scores are large; and unlike a part of the whole loss it does not let a network that is nearly
// always right go far for its last mistakes. docs/results.md has the trials behind the number.
constexpr double kMoveCost = 0.08;
double moving_lambda(const Graph& graph, std::span<const int> layers, const NetworkQuality& start,
                     std::int64_t samples) {
  const double half_square = Regulariser(graph, 1.0, layers).half_square(graph.parameters());
  const double wrong = std::max(1 - start.train_accuracy, 1 / static_cast<double>(samples));
  return std::clamp(kMoveCost * start.train_loss / wrong / std::max(half_square, 1e-30), 1e-6, 1.0);
}

// All layers that can be opened and written back; of others, why not.
std::vector<int> all_layers(const Model& model, Messages& terminal) {
  std::vector<int> layers;
  std::string reason = "no layer of this network can be refined";
  for (int node : refinable_layers(model.graph)) {
    const std::string obstacle = why_not_storable(model, node);
    if (obstacle.empty()) {
      layers.push_back(node);
    } else {
      reason = fmt::format("layer '{}' is left as it is: {}", model.graph.node(node).name, obstacle);
      terminal.line("{}", reason);
    }
  }
  if (layers.empty()) fail("refine", "{}", reason);
  return layers;
}

// The layers with weights that a name, or a pattern of the shell's kind, stands for.
std::vector<int> layers_named(const std::string& pattern, const Graph& graph) {
  std::vector<int> found;
  std::vector<std::string> known;
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) {
    const std::string& name = graph.node(node).name;
    if (!graph.node(node).has_weights()) continue;
    known.push_back(name);
    if (name == pattern || ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0) found.push_back(node);
  }
  if (found.empty())
    fail("refine", "there is no layer '{}' with weights; layers: {}", pattern, fmt::join(known, ","));
  return found;
}

}  // namespace

std::vector<int> chosen_layers(const std::string& text, const Model& model, Messages& terminal) {
  if (text == "all") return all_layers(model, terminal);
  std::vector<int> layers;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    for (int node : layers_named(text.substr(begin, end - begin), model.graph)) {
      const std::string obstacle = why_not_storable(model, node);
      if (!obstacle.empty())
        fail("refine", "layer '{}' cannot be refined: {}", model.graph.node(node).name, obstacle);
      if (std::find(layers.begin(), layers.end(), node) == layers.end()) layers.push_back(node);
    }
    begin = end + 1;
  }
  return layers;
}

int usual_passes(const Graph& graph, const RefineOptions& options, std::int64_t samples) {
  constexpr int passes = 10;
  if (options.moves == Moves::layers || options.mode == RefineMode::paper) return passes;
  constexpr double enough = 500'000;  // samples
  constexpr double flops = 1e13;      // but no more than that, about a minute or two of one core
  const double affordable = flops / (3 * static_cast<double>(graph.flops()));
  const double wanted =
      std::min(enough, affordable) / static_cast<double>(std::max<std::int64_t>(1, samples));
  return std::max(passes, static_cast<int>(std::ceil(wanted)));
}

std::optional<double> given_lambda(const char* place, const std::string& text) {
  if (text.empty() || text == "auto") return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(value > 0) || !std::isfinite(value))
    fail(place, "lambda is '{}'; it must be a positive number", text);
  return value;
}

double lambda_for(const RefineJob& settings, Model& model, const RefineOptions& options, bool at_start,
                  const NetworkQuality& start, const Task& task, const Threads& threads, Messages& terminal,
                  Team& team) {
  if (settings.lambda == "auto")
    return searched_lambda(settings, model, options, task, threads, terminal, team);
  if (const std::optional<double> value = given_lambda("refine", settings.lambda)) return *value;
  if (model.info.lambda && *model.info.lambda > 0 && centred_at_start(model.info) == at_start)
    return *model.info.lambda;
  if (at_start) {
    const double lambda = moving_lambda(model.graph, options.layers, start, task.training.size());
    terminal.line(
        "lambda {:.3g}: the file names none for a regulariser around the start; chosen so that moving the "
        "opened layers as far as they are long costs {} times what a wrong answer costs",
        lambda, kMoveCost);
    return lambda;
  }
  const double lambda = balanced_lambda(model.graph, options.layers, start.train_loss);
  terminal.line(
      "lambda {:.3g}: the file does not say what it was trained with; chosen so that the regulariser of the "
      "opened layers weighs as much as the loss, within 1e-6 and 1e-3",
      lambda);
  return lambda;
}

}  // namespace lwsvm::run
