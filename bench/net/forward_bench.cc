// Speed of a forward pass, for bench/compare_onnxruntime.py to set beside ONNX Runtime's.
//
//   forward_bench MODEL.onnx BATCH SECONDS [CHUNK]
//
// prints one JSON object: samples/s of the best of several rounds over a batch of random pixels, one thread,
// and the process's peak memory. A batch goes through in chunks, as in an evaluation (Evaluator), or in
// chunks of the size given. LWSVM_CLOCK=cpu counts seconds of the processor.
//
//   forward_bench write ARCH MODEL.onnx    a network of ours with random weights
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/machine.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "engine/threads.h"
#include "model/arch.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"
#include "net/evaluator.h"
#include "net/program.h"

namespace lwsvm {
namespace {

// The mnist network, for instance, as a file that others can run.
int write(const std::string& arch, const std::string& file) {
  const bool grey = arch.starts_with("mnist");
  Model model;
  model.graph = build_network(arch, grey ? Shape{1, 28, 28} : Shape{3, 32, 32}, 10, {128.0f}, {128.0f}, 0);
  write_onnx(model, file);
  return 0;
}

int run(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr,
               "usage: forward_bench MODEL.onnx BATCH SECONDS [CHUNK]\n       forward_bench write ARCH "
               "MODEL.onnx\n");
    return 2;
  }
  if (std::string(argv[1]) == "write") return write(argv[2], argv[3]);
  const Model model = read_onnx(argv[1]);
  const int batch = std::atoi(argv[2]);
  const double budget = std::atof(argv[3]);
  const std::int64_t size = element_count(model.graph.node(model.graph.inputs()[0]).shape);
  const auto most = static_cast<int>(argc > 4 ? std::atoi(argv[4]) : evaluation_chunk(model.graph));
  const int chunk = std::min(most, batch), chunks = (batch + chunk - 1) / chunk;
  const auto program_for = [&](int samples) {
    ProgramOptions options;
    options.samples = samples;
    auto program = std::make_unique<Program>(model.graph, options);
    program->load(model.graph);
    return program;
  };
  const auto full = program_for(chunk), last = program_for(batch - (chunks - 1) * chunk);
  Workspace workspace;
  full->fit(workspace);
  last->fit(workspace);
  Random random(1);
  std::vector<float> pixels(static_cast<std::size_t>(batch * size));
  for (float& pixel : pixels) pixel = static_cast<float>(random.uniform(-1, 1));
  const Threads threads(1);
  const auto forward = [&] {
    threads.for_each(chunks, [&](int piece, int) {
      const Program& program = piece + 1 < chunks ? *full : *last;
      std::copy_n(pixels.data() + piece * chunk * size, program.samples() * size, program.input(workspace));
      program.forward(workspace, PatternUse::ignore);
    });
  };
  forward();
  double best = 1e30;
  for (const Stopwatch watch; watch.seconds() < budget;) {
    const Stopwatch one;
    forward();
    best = std::min(best, one.seconds());
  }
  fmt::print(R"({{"samples_per_second":{:.1f},"chunk":{},"flops_per_sample":{},"peak_bytes":{}}})"
             "\n",
             batch / best, chunk, model.graph.flops(), peak_memory());
  return 0;
}

}  // namespace
}  // namespace lwsvm

int main(int argc, char** argv) {
  return lwsvm::run(argc, argv);
}
