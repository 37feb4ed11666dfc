// lwsvm inspect: what a file is, what of it can be refined and what not, and what a refine would take.
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/commands.h"
#include "model/onnx_reader.h"
#include "report/json_text.h"
#include "report/table.h"
#include "run/centre.h"
#include "run/inspection.h"

namespace lwsvm::cli {
namespace {

using nlohmann::ordered_json;

struct InspectCommand {
  std::string output_name;
  std::string model;
  std::int64_t samples = 50000;
  std::string memory = "4G";
};

ordered_json to_json(const LayerMemory& memory) {
  return {{"form", memory.form},         {"inputs", memory.inputs_fit ? memory.inputs : 0},
          {"patterns", memory.patterns}, {"slopes", memory.slopes},
          {"dual", memory.blocks},       {"weights", memory.weights},
          {"total", memory.total()}};
}

void print_json(const Model& model, const run::Inspection& found, const InspectCommand& command) {
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
  ordered_json result{{"classes", run::class_count(model.graph)},
                      {"parameters", found.summary.parameters},
                      {"flops", found.summary.flops},
                      {"arch", model.info.arch},
                      {"data", model.info.data},
                      {"producer", model.info.producer},
                      {"opset", model.info.opset},
                      {"input", run::expected_input(model)},
                      {"notes", model.info.notes}};
  result["lambda"] = model.info.lambda ? ordered_json(*model.info.lambda) : ordered_json(nullptr);
  result["centre"] = run::centred_at_start(model.info) ? "start" : "zero";
  if (const std::string start = run::noted_start(model.info); !start.empty()) result["start"] = start;
  result["samples"] = command.samples;
  result["memory"] = found.largest;
  result["sweep_memory"] = found.sweeps;
  result["layers"] = std::move(layers);
  fmt::print("{}\n", json_text(result));
}

std::string verdict(const std::optional<run::Refinable>& refinable) {
  if (!refinable) return "";
  if (!refinable->obstacle.empty()) return "no: " + refinable->obstacle;
  return fmt::format("{}, {}{}", refinable->memory.form,
                     format_bytes(static_cast<double>(refinable->memory.total())),
                     refinable->memory.inputs_fit ? "" : ", inputs computed anew");
}

void print_table(const Model& model, const run::Inspection& found, const InspectCommand& command) {
  const ModelInfo& info = model.info;
  fmt::print("{}: {} classes, {} parameters, {:.2f} MFLOP per sample", command.model,
             run::class_count(model.graph), format_count(found.summary.parameters),
             static_cast<double>(found.summary.flops) * 1e-6);
  if (!info.arch.empty()) fmt::print(", arch {}", info.arch);
  if (!info.data.empty()) fmt::print(", trained on {}", info.data);
  if (info.lambda) fmt::print(", lambda {}", *info.lambda);
  if (const std::string start = run::noted_start(info); !start.empty()) fmt::print(" around {}", start);
  fmt::print("\nwritten by {}, opset {} of ONNX\n",
             info.producer.empty() ? "an unknown program" : info.producer, info.opset);
  fmt::print("input: {}\n", run::expected_input(model));
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
    fmt::print("; {} samples take at most {} at a time (--memory {}), and sweeps over all layers {}",
               format_count(command.samples), format_bytes(static_cast<double>(found.largest)),
               command.memory, format_bytes(static_cast<double>(found.sweeps)));
  fmt::print("\n");
}

int inspect(const Common& common, const InspectCommand& command) {
  const Model model = read_onnx(command.model, command.output_name);
  const run::Inspection found =
      run::inspect_network(model, command.samples, parse_bytes(command.memory, "memory"));
  if (common.json)
    print_json(model, found, command);
  else
    print_table(model, found, command);
  return done;
}

}  // namespace

Command add_inspect(CLI::App& app, Common& common) {
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
  return {sub, [command, &common] { return inspect(common, *command); }};
}

}  // namespace lwsvm::cli
