// lwsvm inspect: what a file is, what of it can be refined and what not, and what a refine would take.
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/commands.h"
#include "lwsvm/inspect.h"
#include "report/json_text.h"
#include "report/table.h"

namespace lwsvm::cli {
namespace {

using nlohmann::ordered_json;

struct InspectCommand {
  std::string output_name;
  std::string model;
  InspectSettings settings;
  std::string memory = settings.memory.text();
};

ordered_json to_json(const OpenLayerMemory& memory) {
  return {{"form", memory.form},     {"inputs", memory.inputs}, {"patterns", memory.patterns},
          {"slopes", memory.slopes}, {"dual", memory.dual},     {"weights", memory.weights},
          {"total", memory.total}};
}

ordered_json to_json(const InspectedLayer& layer) {
  const LayerInfo& info = layer.info;
  ordered_json result{{"name", info.name},       {"kind", info.kind},
                      {"inputs", layer.inputs},  {"shape", info.output_shape},
                      {"details", info.details}, {"parameters", info.parameters},
                      {"flops", layer.flops},    {"linearity", layer.linearity}};
  if (!info.has_weights) return result;
  result["refinable"] = layer.memory.has_value();
  if (layer.memory)
    result["memory"] = to_json(*layer.memory);
  else
    result["why_not"] = info.why_not_refinable;
  return result;
}

void print_json(const Network& network, const Inspection& found, const InspectCommand& command) {
  ordered_json layers = ordered_json::array();
  for (const InspectedLayer& layer : found.layers) layers.push_back(to_json(layer));
  ordered_json result{
      {"classes", network.classes()}, {"parameters", found.parameters}, {"flops", found.flops},
      {"arch", network.arch()},       {"data", network.data()},         {"producer", network.producer()},
      {"opset", found.opset},         {"input", found.input},           {"notes", network.notes()}};
  result["lambda"] = network.lambda() ? ordered_json(*network.lambda()) : ordered_json(nullptr);
  result["centre"] = found.centre;
  if (!found.start.empty()) result["start"] = found.start;
  result["samples"] = command.settings.samples;
  result["memory"] = found.largest_memory;
  result["sweep_memory"] = found.sweep_memory;
  result["layers"] = std::move(layers);
  fmt::print("{}\n", json_text(result));
}

std::string verdict(const InspectedLayer& layer) {
  if (!layer.info.has_weights) return "";
  if (!layer.memory) return "no: " + layer.info.why_not_refinable;
  return fmt::format("{}, {}{}", layer.memory->form, format_bytes(static_cast<double>(layer.memory->total)),
                     layer.memory->inputs_fit ? "" : ", inputs computed anew");
}

void print_table(const Network& network, const Inspection& found, const InspectCommand& command) {
  fmt::print("{}: {} classes, {} parameters, {:.2f} MFLOP per sample", command.model, network.classes(),
             format_count(found.parameters), static_cast<double>(found.flops) * 1e-6);
  if (!network.arch().empty()) fmt::print(", arch {}", network.arch());
  if (!network.data().empty()) fmt::print(", trained on {}", network.data());
  if (network.lambda()) fmt::print(", lambda {}", *network.lambda());
  if (!found.start.empty()) fmt::print(" around {}", found.start);
  fmt::print("\nwritten by {}, opset {} of ONNX\n",
             network.producer().empty() ? "an unknown program" : network.producer(), found.opset);
  fmt::print("input: {}\n", found.input);
  for (const std::string& note : network.notes()) fmt::print("note: {}\n", note);
  fmt::print("\n");
  Table table({"layer", "kind", "details", "from", "output", "parameters", "FLOPs", "is", "refine"});
  for (const InspectedLayer& layer : found.layers) {
    const LayerInfo& info = layer.info;
    table.add({info.name, info.kind, info.details, fmt::format("{}", fmt::join(layer.inputs, ", ")),
               info.output_shape.empty() ? "1" : fmt::format("{}", fmt::join(info.output_shape, "x")),
               info.parameters ? format_count(info.parameters) : "",
               layer.flops ? format_count(layer.flops) : "", info.kind == "Input" ? "" : layer.linearity,
               verdict(layer)});
  }
  fmt::print("{}\n{} of {} layers with weights can be refined", table.str(), found.refinable, found.weighted);
  if (found.refinable > 0)
    fmt::print("; {} samples take at most {} at a time (--memory {}), and sweeps over all layers {}",
               format_count(command.settings.samples),
               format_bytes(static_cast<double>(found.largest_memory)), command.memory,
               format_bytes(static_cast<double>(found.sweep_memory)));
  fmt::print("\n");
}

int run_inspect(const Common& common, InspectCommand command) {
  command.settings.memory = command.memory;
  const Network network = Network::load(command.model, command.output_name);
  const Inspection found = inspect(network, command.settings);
  if (common.json)
    print_json(network, found, command);
  else
    print_table(network, found, command);
  return done;
}

}  // namespace

Command add_inspect(CLI::App& app, Common& common) {
  auto command = std::make_shared<InspectCommand>();
  CLI::App* sub = app.add_subcommand(
      "inspect", "what a network is, which of its layers can be refined, and the memory that takes");
  sub->add_option("model", command->model, "ONNX file")->required();
  add_output_name_option(*sub, command->output_name);
  sub->add_option("--samples", command->settings.samples, "how many training samples the memory is for")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_option("--memory", command->memory, "that refine may take, as its option of that name")
      ->capture_default_str();
  add_common_options(*sub, common);
  return {sub, [command, &common] { return run_inspect(common, *command); }};
}

}  // namespace lwsvm::cli
