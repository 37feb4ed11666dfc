// Passes over the samples to a given relative gap on a multi-class linear SVM, by one rank and by several
// (threads of one process), for each way of putting together what the ranks have done in a round
// (ssvm/rounds.h).
//
//   rounds_bench DATA SAMPLES LAMBDA GAP MAX_EPOCHS BLOCKS RANKS [BATCH BATCHES CAUTION]...
//
// BLOCKS is exact or labels (Frank-Wolfe). A line of JSON for each run: one rank with batches of 200, then
// RANKS ranks with BATCHES batches of BATCH samples each in a round, taking kappa for CAUTION times what it
// is. "passes" counts visits / N, "vectors_per_round" what the first rank sends, in vectors of the layer's
// size.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "base/thread_team.h"
#include "data/dataset.h"
#include "ssvm/bcfw.h"
#include "ssvm/frank_wolfe.h"
#include "ssvm/svm_layer.h"
#include "ssvm/toys.h"

using namespace lwsvm;

namespace {

struct Settings {
  double lambda = 0, gap = 0;
  int max_epochs = 0;
  bool exact = true;
};

toys::Data read_part(const DataSet& set, std::int64_t begin, std::int64_t count) {
  toys::Data data{count, static_cast<std::int64_t>(set.train.sample_size()), set.classes, {}, {}};
  data.features.resize(static_cast<std::size_t>(count * data.width));
  for (std::int64_t i = 0; i < count; ++i) {
    set.train.read(static_cast<std::size_t>(begin + i), data.features.data() + i * data.width);
    data.labels.push_back(set.train.labels()[static_cast<std::size_t>(begin + i)]);
  }
  for (float& pixel : data.features) pixel /= 256;
  return data;
}

void solve(Team& team, const DataSet& set, std::int64_t samples, const Settings& settings, int batch,
           const RoundOptions& rounds) {
  const char* names[] = {"together", "a step per rank", "one step", "average", "careful sum (CoCoA+)"};
  const Threads threads(1);
  const toys::Data data = read_part(set, part_begin(samples, team.rank(), team.size()),
                                    part_size(samples, team.rank(), team.size()));
  const MarginMatrix margin(set.classes);
  DenseFeatures rows(data.features.data(), data.samples, data.width);
  toys::LinearLabelModel model(data, threads);
  LabelOracle oracle(model, data.labels, margin);
  FrankWolfe frank_wolfe(oracle, StepRule::per_block, threads);
  SvmLayer exact(rows, data.labels, margin, threads);
  BlockAscent& blocks = settings.exact ? static_cast<BlockAscent&>(exact) : frank_wolfe;
  BcfwOptions options;
  options.lambda = settings.lambda;
  options.average = false;
  options.schedule.batch_size = batch;
  options.rounds = rounds;
  BcfwSolver solver(blocks, std::vector<float>(static_cast<std::size_t>(blocks.dimension()), 0.0f), options,
                    threads, {}, team);
  StoppingOptions stopping;
  stopping.gap_fraction = 0;
  stopping.relative_gap = settings.gap;
  stopping.max_epochs = settings.max_epochs;
  int rounds_made = 0;
  const Summary summary = solver.solve(stopping, [&](const SolveProgress& progress) {
    rounds_made += !progress.epoch_end;
    return true;
  });
  if (!team.is_first()) return;
  const double vectors =
      static_cast<double>(team.times().bytes) / static_cast<double>(4 * blocks.dimension());
  fmt::print(
      "{{\"ranks\": {}, \"combination\": \"{}\", \"batch\": {}, \"batches\": {}, \"epochs\": {}, \"passes\": "
      "{:.2f}, "
      "\"caution\": {}, \"relative_gap\": {:.5f}, \"dual\": {:.6f}, \"rounds\": {}, "
      "\"vectors_per_round\": {:.2f}}}\n",
      team.size(), team.is_alone() ? "none" : names[static_cast<int>(rounds.combination)], batch,
      rounds.batches, summary.epochs, static_cast<double>(summary.visits) / static_cast<double>(samples),
      rounds.caution, summary.gap / summary.primal, summary.dual, rounds_made, vectors / rounds_made);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) {
    fmt::print(stderr,
               "usage: rounds_bench DATA SAMPLES LAMBDA GAP MAX_EPOCHS exact|labels RANKS [BATCH BATCHES "
               "CAUTION]...\n");
    return 2;
  }
  const DataSet set = load_data(argv[1]);
  const auto samples = std::min<std::int64_t>(std::atoi(argv[2]), std::ssize(set.train.labels()));
  const Settings settings{std::atof(argv[3]), std::atof(argv[4]), std::atoi(argv[5]),
                          std::string(argv[6]) == "exact"};
  const int ranks = std::atoi(argv[7]);
  solve(alone(), set, samples, settings, 200, {});
  for (int k = 8; k + 2 < argc; k += 3)
    for (const auto combination : {Combination::together, Combination::steps, Combination::one_step,
                                   Combination::average, Combination::careful_sum})
      with_ranks(ranks, [&](Team& team) {
        solve(team, set, samples, settings, std::atoi(argv[k]),
              {combination, std::atoi(argv[k + 1]), std::atof(argv[k + 2])});
      });
}
