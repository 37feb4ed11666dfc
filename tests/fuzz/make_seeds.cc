// Small networks of every kind for the fuzzer to begin with: ours, and those in other exporters' styles.
//
//   make_seeds FOLDER
#include <fmt/format.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "model/arch.h"
#include "model/foreign_cases.h"
#include "model/graphs.h"
#include "model/onnx_writer.h"

int main(int argc, char** argv) {
  using namespace lwsvm;
  if (argc != 2) return fmt::print(stderr, "usage: make_seeds FOLDER\n"), 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const auto save = [&](const std::string& name, Graph graph) {
    Model model;
    model.graph = std::move(graph);
    model.info.lambda = 0.001;
    write_onnx(model, folder / (name + ".onnx"));
  };
  for (const KindCase& kind : every_kind()) save(kind.name, graph_of(kind));
  for (std::uint64_t seed = 0; seed < 5; ++seed) save(fmt::format("random{}", seed), random_graph(seed));
  save("built", build_network("conv2x2-bn-maxout2-prelu-relu6-res(conv2x1)-pool2-inception(id|leaky0.5)-gap",
                              {1, 3, 3}, 2, {1}, {2}, 1));
  for (const ForeignCase& test : foreign_cases())
    write_file_atomically(folder / ("foreign_" + test.name + ".onnx"), test.proto.SerializeAsString());
}
