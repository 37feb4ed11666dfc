// ONNX files: a network that was read can be written, and what is written reads back as the same network.
#include <algorithm>
#include <span>

#include "base/error.h"
#include "fuzz/reader_fuzz.h"
#include "model/arch.h"
#include "model/foreign_cases.h"
#include "model/graphs.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"

namespace lwsvm::fuzz {
namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](float x, float y) { return x == y || (x != x && y != y); });
}

void check_written(const Model& model) {
  const Model again = from_onnx_bytes(to_onnx_bytes(model), "again.onnx");
  LWSVM_CHECK(same_bits(again.graph.parameters(), model.graph.parameters()));
  LWSVM_CHECK(same_bits(again.graph.statistics(), model.graph.statistics()));
}

// Other weights wherever the file can take them.
void change(Model& model) {
  for (std::size_t i = 0; i < model.graph.nodes().size(); ++i) {
    const int node = static_cast<int>(i);
    if (!why_not_storable(model, node).empty()) continue;
    const ParameterRange& range = model.graph.node(node).trained;
    const std::span<float> weights(model.graph.parameters().data() + range.begin,
                                   static_cast<std::size_t>(range.size));
    for (float& w : weights) w = w * 0.5f + 0.25f;
    round_to_storage(model, node, weights);
  }
}

}  // namespace

void read(std::string_view bytes) {
  Model model = from_onnx_bytes(bytes, "fuzz.onnx");
  check_written(model);
  change(model);
  check_written(model);
}

// Small networks of every kind: ours, and those in other exporters' styles.
std::vector<std::string> seeds() {
  std::vector<std::string> files;
  const auto add = [&](Graph graph) {
    Model model;
    model.graph = std::move(graph);
    model.info.lambda = 0.001;
    files.push_back(to_onnx_bytes(model));
  };
  for (const KindCase& kind : every_kind()) add(graph_of(kind));
  for (std::uint64_t seed = 0; seed < 5; ++seed) add(random_graph(seed));
  add(build_network("conv2x2-bn-maxout2-prelu-relu6-res(conv2x1)-pool2-inception(id|leaky0.5)-gap", {1, 3, 3},
                    2, {1}, {2}, 1));
  for (const ForeignCase& test : foreign_cases()) files.push_back(test.proto.SerializeAsString());
  return files;
}

}  // namespace lwsvm::fuzz
