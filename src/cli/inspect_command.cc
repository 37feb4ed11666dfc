// lwsvm inspect: what is in a network, layer by layer.
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/task.h"
#include "model/onnx_reader.h"
#include "model/summary.h"
#include "report/table.h"

namespace lwsvm::cli {
namespace {

using json = nlohmann::ordered_json;

void print_json(const Model& model, const GraphSummary& summary) {
  json layers = json::array();
  for (const NodeSummary& node : summary.nodes)
    layers.push_back({{"name", node.name},
                      {"kind", node.kind},
                      {"inputs", node.inputs},
                      {"shape", node.output_shape},
                      {"details", node.details},
                      {"parameters", node.parameters},
                      {"flops", node.flops},
                      {"linearity", to_string(node.linearity)}});
  json result{{"classes", class_count(model.graph)},
              {"parameters", summary.parameters},
              {"flops", summary.flops},
              {"arch", model.info.arch},
              {"data", model.info.data},
              {"producer", model.info.producer}};
  result["lambda"] = model.info.lambda ? json(*model.info.lambda) : json(nullptr);
  result["layers"] = std::move(layers);
  fmt::print("{}\n", result.dump());
}

void print_table(const std::string& file, const Model& model, const GraphSummary& summary) {
  fmt::print("{}: {} classes, {} parameters, {:.2f} MFLOP a sample", file, class_count(model.graph),
             format_count(summary.parameters), static_cast<double>(summary.flops) * 1e-6);
  if (!model.info.arch.empty()) fmt::print(", arch {}", model.info.arch);
  if (!model.info.data.empty()) fmt::print(", trained on {}", model.info.data);
  if (model.info.lambda) fmt::print(", lambda {}", *model.info.lambda);
  fmt::print("\n\n");
  Table table({"layer", "kind", "details", "from", "output", "parameters", "FLOPs", "is"});
  for (const NodeSummary& node : summary.nodes)
    table.add({node.name, node.kind, node.details, fmt::format("{}", fmt::join(node.inputs, ", ")),
               to_string(node.output_shape), node.parameters ? format_count(node.parameters) : "",
               node.flops ? format_count(node.flops) : "",
               node.kind == "Input" ? "" : std::string(to_string(node.linearity))});
  fmt::print("{}", table.str());
}

int inspect(const Common& common, const std::string& file) {
  const Model model = read_onnx(file);
  const GraphSummary summary = describe(model.graph);
  if (common.json)
    print_json(model, summary);
  else
    print_table(file, model, summary);
  return done;
}

}  // namespace

void add_inspect(CLI::App& app, Common& common) {
  auto file = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("inspect", "layers, shapes, parameters and FLOPs of a network");
  sub->add_option("model", *file, "ONNX file")->required();
  add_common_options(*sub, common);
  sub->callback([file, &common] { common.exit_code = inspect(common, *file); });
}

}  // namespace lwsvm::cli
