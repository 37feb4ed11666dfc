// Passes and seconds to a given relative gap on a multi-class linear SVM, for each way of improving a batch.
//
//   svm_bench FILE.libsvm LAMBDA GAP MAX_EPOCHS [BATCH...]
//
// A line of JSON for each run; "passes" counts visits / N, so resting blocks count for nothing.
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "data/libsvm_file.h"
#include "ssvm/bcfw.h"
#include "ssvm/frank_wolfe.h"
#include "ssvm/svm_layer.h"
#include "ssvm/toys.h"

using namespace lwsvm;

namespace {

void run(const char* method, BlockAscent& blocks, double lambda, double gap, int max_epochs, int batch,
         int rest, const Threads& threads) {
  BcfwOptions options;
  options.lambda = lambda;
  options.average = false;
  options.schedule.batch_size = batch;
  options.schedule.longest_rest = rest;
  BcfwSolver solver(blocks, std::vector<float>(static_cast<std::size_t>(blocks.dimension()), 0.0f), options,
                    threads);
  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.relative_gap = gap;
  stopping.max_epochs = max_epochs;
  const Summary summary = solver.solve(stopping);
  fmt::print(
      "{{\"method\": \"{}\", \"lambda\": {}, \"batch\": {}, \"longest_rest\": {}, \"epochs\": {}, "
      "\"passes\": {:.2f}, "
      "\"seconds\": {:.3f}, \"primal\": {:.6f}, \"dual\": {:.6f}, \"relative_gap\": {:.6f}, \"dual_bytes\": "
      "{}}}\n",
      method, lambda, batch, rest, summary.epochs,
      static_cast<double>(summary.visits) / static_cast<double>(blocks.samples()), summary.seconds,
      summary.primal, summary.dual, summary.gap / summary.primal, blocks.block_bytes());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: svm_bench FILE.libsvm LAMBDA GAP MAX_EPOCHS [BATCH...]\n");
    return 2;
  }
  const LibsvmData file = read_libsvm(std::filesystem::path(argv[1]));
  const double lambda = std::atof(argv[2]), gap = std::atof(argv[3]);
  const int max_epochs = std::atoi(argv[4]);
  std::vector<int> batches;
  for (int k = 5; k < argc; ++k) batches.push_back(std::atoi(argv[k]));
  if (batches.empty()) batches = {200};
  const toys::Data data{file.samples(), file.width, file.classes(), file.dense(), file.labels};
  const auto margin = MarginMatrix::zero_one(data.classes);
  const Threads threads;
  for (const int batch : batches)
    for (const int rest : {0, 8}) {
      DenseFeatures rows(data.features.data(), data.samples, data.width);
      SvmLayer exact(rows, data.labels, margin, threads);
      run("exact", exact, lambda, gap, max_epochs, batch, rest, threads);
      toys::LinearLabelModel model(data, threads);
      for (const auto& [name, rule] :
           {std::pair("per_block", StepRule::per_block), {"single", StepRule::single}}) {
        if (rule == StepRule::single && rest > 0) continue;
        LabelOracle oracle(model, data.labels, margin);
        FrankWolfe steps(oracle, rule, threads);
        run(name, steps, lambda, gap, max_epochs, batch, rest, threads);
      }
    }
}
