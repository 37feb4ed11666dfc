// libFuzzer on the ONNX reader: any bytes give a network or an Error, in little time and memory; a network
// can be written, and what is written reads back as the same network.
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "model/storage.h"

namespace {

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](float x, float y) { return x == y || (x != x && y != y); });
}

void check_written(const lwsvm::Model& model) {
  const lwsvm::Model again = lwsvm::from_onnx_bytes(lwsvm::to_onnx_bytes(model), "again.onnx");
  LWSVM_CHECK(same_bits(again.graph.parameters(), model.graph.parameters()));
  LWSVM_CHECK(same_bits(again.graph.statistics(), model.graph.statistics()));
}

// Other weights wherever the file can take them.
void change(lwsvm::Model& model) {
  for (std::size_t i = 0; i < model.graph.nodes().size(); ++i) {
    const int node = static_cast<int>(i);
    if (!lwsvm::why_not_storable(model, node).empty()) continue;
    const lwsvm::ParameterRange& range = model.graph.node(node).trained;
    const std::span<float> weights(model.graph.parameters().data() + range.begin,
                                   static_cast<std::size_t>(range.size));
    for (float& w : weights) w = w * 0.5f + 0.25f;
    lwsvm::round_to_storage(model, node, weights);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    lwsvm::Model model = lwsvm::from_onnx_bytes({reinterpret_cast<const char*>(data), size}, "fuzz.onnx");
    check_written(model);
    change(model);
    check_written(model);
  } catch (const lwsvm::Error&) {
  }
  return 0;
}
