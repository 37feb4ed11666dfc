// lwsvm inspect: what a file is, what of it can be refined and what not, and what a refine would take.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/commands.h"
#include "lwsvm/layer_problem.h"
#include "model/onnx_reader.h"
#include "model/storage.h"
#include "model/summary.h"
#include "net/layers/arithmetic_layers.h"
#include "report/json_text.h"
#include "report/table.h"
#include "run/centre.h"
#include "run/model_input.h"
#include "run/task.h"

namespace lwsvm::cli {
namespace {

using nlohmann::ordered_json;

struct InspectCommand {
  std::string output_name;
  std::string model;
  std::int64_t samples = 50000;
  std::string memory = "4G";
};

// Of a layer with weights: whether it can be opened, and what that takes.
struct Refinable {
  std::string obstacle;  // empty: it can
  LayerMemory memory;
};

std::optional<Refinable> judge(const Model& model, int node, std::int64_t samples, std::uint64_t memory) {
  if (!model.graph.node(node).has_weights()) return {};
  Refinable result;
  result.obstacle = why_not_refinable(model.graph, node);
  if (result.obstacle.empty()) result.obstacle = why_not_storable(model, node);
  if (!result.obstacle.empty()) return result;
  LayerProblemOptions options;
  options.memory = memory;
  options.free_layers = automatic_free_layers(model.graph, node, samples, memory);
  result.memory = memory_of(model.graph, node, samples, options);
  return result;
}

bool normalises_itself(const Graph& graph) {
  for (int input : graph.inputs())
    for (int reader : graph.consumers(input))
      if (dynamic_cast<const NormalizeLayer*>(graph.node(reader).layer.get())) return true;
  return false;
}

// What goes in, as far as the file tells.
std::string expected_input(const Model& model) {
  const Shape& shape = model.graph.node(model.graph.inputs()[0]).shape;
  if (!model.info.input.empty()) return model.info.input;
  std::string order;
  if (shape.size() == 1) order = ", a list of pixels";
  if (shape.size() == 3) order = shape[0] <= 4 ? ", channels first" : shape[2] <= 4 ? ", channels last" : "";
  const auto noted = model.info.metadata.find(kNormalizeKey);
  const std::string pixels =
      noted != model.info.metadata.end() ? "normalised by " + noted->second
      : normalises_itself(model.graph)
          ? "which it normalises itself"
          : "normalised in a way that the file does not tell (eval and refine try, or see --normalize)";
  return fmt::format("{}{}; pixels {}", to_string(shape), order, pixels);
}

struct Findings {
  GraphSummary summary;
  std::vector<std::optional<Refinable>> layers;  // by node
  int weighted = 0, refinable = 0;
  std::uint64_t most = 0;  // bytes, of the layer that takes most

  Findings(const Model& model, const InspectCommand& command) : summary(describe(model.graph)) {
    const std::uint64_t memory = parse_bytes(command.memory, "memory");
    for (std::size_t i = 0; i < summary.nodes.size(); ++i) {
      layers.push_back(judge(model, static_cast<int>(i), command.samples, memory));
      if (!layers.back()) continue;
      ++weighted;
      if (!layers.back()->obstacle.empty()) continue;
      ++refinable;
      most = std::max(most, layers.back()->memory.total());
    }
  }
};

ordered_json to_json(const LayerMemory& memory) {
  return {{"form", memory.form},         {"inputs", memory.inputs_fit ? memory.inputs : 0},
          {"patterns", memory.patterns}, {"slopes", memory.slopes},
          {"dual", memory.blocks},       {"weights", memory.weights},
          {"total", memory.total()}};
}

void print_json(const Model& model, const Findings& found, const InspectCommand& command) {
  ordered_json layers = ordered_json::array();
  for (std::size_t i = 0; i < found.layers.size(); ++i) {
    const NodeSummary& node = found.summary.nodes[i];
    ordered_json layer{{"name", node.name},       {"kind", node.kind},
                       {"inputs", node.inputs},   {"shape", node.output_shape},
                       {"details", node.details}, {"parameters", node.parameters},
                       {"flops", node.flops},     {"linearity", to_string(node.linearity)}};
    if (const auto& refinable = found.layers[i]) {
      layer["refinable"] = refinable->obstacle.empty();
      if (refinable->obstacle.empty())
        layer["memory"] = to_json(refinable->memory);
      else
        layer["why_not"] = refinable->obstacle;
    }
    layers.push_back(std::move(layer));
  }
  ordered_json result{{"classes", class_count(model.graph)},
                      {"parameters", found.summary.parameters},
                      {"flops", found.summary.flops},
                      {"arch", model.info.arch},
                      {"data", model.info.data},
                      {"producer", model.info.producer},
                      {"opset", model.info.opset},
                      {"input", expected_input(model)},
                      {"notes", model.info.notes}};
  result["lambda"] = model.info.lambda ? ordered_json(*model.info.lambda) : ordered_json(nullptr);
  result["centre"] = centred_at_start(model.info) ? "start" : "zero";
  if (const std::string start = noted_start(model.info); !start.empty()) result["start"] = start;
  result["samples"] = command.samples;
  result["memory"] = found.most;
  result["layers"] = std::move(layers);
  fmt::print("{}\n", json_text(result));
}

std::string verdict(const std::optional<Refinable>& refinable) {
  if (!refinable) return "";
  if (!refinable->obstacle.empty()) return "no: " + refinable->obstacle;
  return fmt::format("{}, {}{}", refinable->memory.form,
                     format_bytes(static_cast<double>(refinable->memory.total())),
                     refinable->memory.inputs_fit ? "" : ", inputs computed anew");
}

void print_table(const Model& model, const Findings& found, const InspectCommand& command) {
  const ModelInfo& info = model.info;
  fmt::print("{}: {} classes, {} parameters, {:.2f} MFLOP a sample", command.model, class_count(model.graph),
             format_count(found.summary.parameters), static_cast<double>(found.summary.flops) * 1e-6);
  if (!info.arch.empty()) fmt::print(", arch {}", info.arch);
  if (!info.data.empty()) fmt::print(", trained on {}", info.data);
  if (info.lambda) fmt::print(", lambda {}", *info.lambda);
  if (const std::string start = noted_start(info); !start.empty()) fmt::print(" around {}", start);
  fmt::print("\nwritten by {}, opset {} of ONNX\n",
             info.producer.empty() ? "an unknown program" : info.producer, info.opset);
  fmt::print("input: {}\n", expected_input(model));
  for (const std::string& note : info.notes) fmt::print("note: {}\n", note);
  fmt::print("\n");
  Table table({"layer", "kind", "details", "from", "output", "parameters", "FLOPs", "is", "refine"});
  for (std::size_t i = 0; i < found.layers.size(); ++i) {
    const NodeSummary& node = found.summary.nodes[i];
    table.add({node.name, node.kind, node.details, fmt::format("{}", fmt::join(node.inputs, ", ")),
               to_string(node.output_shape), node.parameters ? format_count(node.parameters) : "",
               node.flops ? format_count(node.flops) : "",
               node.kind == "Input" ? "" : std::string(to_string(node.linearity)), verdict(found.layers[i])});
  }
  fmt::print("{}\n{} of {} layers with weights can be refined", table.str(), found.refinable, found.weighted);
  if (found.refinable > 0)
    fmt::print("; {} samples take at most {} at a time (--memory {})", format_count(command.samples),
               format_bytes(static_cast<double>(found.most)), command.memory);
  fmt::print("\n");
}

int inspect(const Common& common, const InspectCommand& command) {
  const Model model = read_onnx(command.model, command.output_name);
  const Findings found(model, command);
  if (common.json)
    print_json(model, found, command);
  else
    print_table(model, found, command);
  return done;
}

}  // namespace

void add_inspect(CLI::App& app, Common& common) {
  auto command = std::make_shared<InspectCommand>();
  CLI::App* sub = app.add_subcommand(
      "inspect", "what a network is, which of its layers can be refined, and the memory that takes");
  sub->add_option("model", command->model, "ONNX file")->required();
  add_output_name_option(*sub, command->output_name);
  sub->add_option("--samples", command->samples, "how many training samples the memory is for")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_option("--memory", command->memory, "that refine may take, as its option of that name")
      ->capture_default_str();
  add_common_options(*sub, common);
  sub->callback([command, &common] { common.exit_code = inspect(common, *command); });
}

}  // namespace lwsvm::cli
