// What `lwsvm refine` can be told; --help says what each means.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/sample_source.h"
#include "lwsvm/moves.h"
#include "lwsvm/refine_observer.h"

namespace lwsvm {

enum class Search { labels, automatic, full };
enum class Keep { best, last };
enum class RefineMode { standard, paper };

struct RefineOptions {
  std::vector<int> layers;  // nodes to open; empty: all that can be
  double lambda = 1e-3;
  // Where the regulariser pulls to, laid out as the graph's parameters (only the opened layers count); empty:
  // zero.
  std::vector<float> centre;
  // Layers that are not opened count in F too, as they do in [BZK17]; always so in paper mode.
  bool regularise_all = false;
  std::optional<double> mu;  // fixes it; otherwise adapted (trust_region.h)
  Moves moves = Moves::automatic;
  std::optional<int> passes;  // at most, those of sweeps too; absent: no end
  // Moves in a row without a better network by validation, the last one ending it; absent: no end. With
  // Moves::layers passes in a row that end below the best; absent: 1.
  std::optional<int> patience;
  double gap = 0.4;     // an inner solve ends at gap <= this * (P(w_t) - D)
  int max_epochs = 50;  // of one inner solve
  int batch = 200;
  Search search = Search::automatic;
  Keep keep = Keep::best;
  RefineMode mode = RefineMode::standard;
  std::uint64_t memory = std::uint64_t{4} << 30;
  std::uint64_t seed = 0;
  // Rounds a node's weights to what the file they go to can hold (float16, ...), before they are judged; true
  // if that changed one. Empty: float32, which changes nothing.
  std::function<bool(int node, std::span<float> weights)> as_stored;

  // F is taken over so many of the training samples, judged_samples() of them; absent: over all. With sweeps
  // alone, which need not look at all samples at once.
  std::optional<std::int64_t> judged;

  // A sweep whose length is known beforehand, such as one that is made again with more samples: one that
  // takes all the passes, in place of several, each longer than the last ...
  bool one_sweep = false;
  std::optional<double> radius;  // ... with this first eta; absent: found by short runs
  bool few_judges = false;       // which are judged on validation samples, however few there are

  // What sweeps draw from, if not from the training samples alone: these and, after them, copies of all of
  // them that are as good as new samples. F is over the training samples in any case. No prefix is kept then.
  const SampleSource* sweep_samples = nullptr;

  // The values that the training samples (or those for validation) have at a node before all opened layers,
  // where somebody has them, in memory or, where they would take more than half of it, in a file; null or
  // empty: they are computed, once and if they fit ...
  std::function<std::unique_ptr<SampleSource>(int node, bool training)> prefix;
  bool keep_prefix = true;  // ... unless there is no time for that

  void validate() const;  // throws Error
};

// Which of so many training samples F is taken over.
std::vector<std::int32_t> judged_samples(std::int64_t training, std::int64_t judged, std::uint64_t seed);

}  // namespace lwsvm
