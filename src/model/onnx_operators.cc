#include "model/onnx_operators.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/nearest.h"

namespace lwsvm {
namespace {

using Importers = std::unordered_map<std::string, void (*)(NodeImport&)>;

const Importers& all_importers() {
  static const Importers importers = [] {
    Importers all;
    for (auto group : {activation_importers(), arithmetic_importers(), axis_importers(), frozen_importers(),
                       linear_importers(), pooling_importers(), resize_importers(), shape_importers()})
      for (const OperatorImporter& entry : group) all.emplace(entry.op, entry.import);
    return all;
  }();
  return importers;
}

bool is_recurrent(const std::string& op) {
  return op == "LSTM" || op == "GRU" || op == "RNN";
}

bool is_standard(const onnx::NodeProto& proto) {
  return proto.domain().empty() || proto.domain() == "ai.onnx";
}

// The nearest thing that works: what such an operator is replaced by, or one of nearly that name.
[[noreturn]] void fail_unsupported(const NodeImport& node, const std::string& op,
                                   const std::string& others = "") {
  static const std::unordered_map<std::string, const char*> replacements{
      {"Mish", "HardSwish"},       {"LpPool", "AveragePool"}, {"GlobalLpPool", "GlobalAveragePool"},
      {"QLinearConv", "Conv"},     {"ConvInteger", "Conv"},   {"QLinearMatMul", "MatMul"},
      {"MatMulInteger", "MatMul"}, {"QGemm", "Gemm"},         {"GroupNormalization", "InstanceNormalization"},
      {"LpNormalization", "LRN"},  {"Tile", "Concat"},
  };
  if (is_recurrent(op))
    node.fail("operator {} is not supported: recurrent layers cannot be read, only networks without them{}",
              op, others);
  const auto found = replacements.find(op);
  const std::vector<std::string> known = known_operators();
  const std::string near = found != replacements.end() ? found->second : nearest_word(op, known);
  if (near.empty())
    node.fail("operator {} is not supported{}; those that are: {}", op, others, fmt::join(known, ", "));
  node.fail("operator {} is not supported; the nearest that is: {}{}", op, near, others);
}

}  // namespace

std::vector<std::string> known_operators() {
  std::vector<std::string> known = foldable_operators();
  for (const auto& [name, importer] : all_importers()) known.push_back(name);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

void refuse_unknown(ImportState& state, const onnx::GraphProto& graph, const std::vector<int>& order) {
  std::unordered_set<std::string> computed;  // from the network's input, not from its shape
  for (const auto& [name, value] : state.values)
    if (value.node >= 0) computed.insert(name);
  const std::vector<std::string> known = known_operators();
  const onnx::NodeProto* worst = nullptr;
  std::vector<std::string> unknown;
  for (int i : order) {
    const onnx::NodeProto& node = graph.node(i);
    const auto is_computed = [&](const std::string& name) { return computed.contains(name); };
    const auto inputs = std::count_if(node.input().begin(), node.input().end(), is_computed);
    if (inputs == 0 || node.op_type() == "Shape" || node.op_type() == "Size") continue;
    for (const std::string& output : node.output()) computed.insert(output);
    const bool product = node.op_type() == "MatMul" && inputs == 2;
    const bool readable = is_standard(node) && std::binary_search(known.begin(), known.end(), node.op_type());
    if (readable && !product) continue;
    if (!product && std::find(unknown.begin(), unknown.end(), node.op_type()) == unknown.end())
      unknown.push_back(node.op_type());
    if (worst == nullptr || (is_recurrent(node.op_type()) && !is_recurrent(worst->op_type()))) worst = &node;
  }
  if (worst == nullptr) return;
  std::erase(unknown, worst->op_type());
  const NodeImport node(state, *worst);
  const std::string others =
      unknown.empty() ? "" : fmt::format(" (also not supported here: {})", fmt::join(unknown, ", "));
  if (worst->op_type() == "MatMul" && is_standard(*worst))
    node.fail(
        "MatMul of two computed values, as in attention, is not piecewise linear, and not supported; one "
        "must be weights{}",
        others);
  if (!is_standard(*worst)) return;  // import_node() says so
  fail_unsupported(node, worst->op_type(), others);
}

bool import_constant(ImportState& state, const onnx::NodeProto& proto) {
  if (!is_standard(proto)) return false;
  NodeImport node(state, proto);
  if (proto.op_type() != "Constant") return fold(node);
  all_importers().at("Constant")(node);
  return true;
}

void import_node(ImportState& state, const onnx::NodeProto& proto) {
  NodeImport node(state, proto);
  if (!is_standard(proto))
    node.fail("operator {} of '{}' is not supported, only ONNX's own operators are", proto.op_type(),
              proto.domain());
  if (fold(node)) return;
  const auto found = all_importers().find(proto.op_type());
  if (found == all_importers().end()) fail_unsupported(node, proto.op_type());
  found->second(node);
}

}  // namespace lwsvm
