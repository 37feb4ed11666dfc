// A sweep: one or more passes over the samples that move all opened layers at once, by closed-form
// Frank-Wolfe steps on batches (sgd/proximal_step.h, [BZK19]), with no learning rate.
//
//   radius      the first eta follows from the number of steps that there is time for; short runs, judged on
//               validation samples where there are some, make sure that it gains, or take a smaller one
//               (sgd/radius_race.h); the best of them goes on from there
//   sweep       eta comes down to zero within the sweep, as half a cosine; so does the temperature tau that
//               the hinge is smoothed with (net/loss.h), from the mean loss that the sweep begins with
//   candidate   the last iterate or the average of the last ones: the one with the lower F on a probe
//   judge       F over all samples, as for every move: it fell, or the sweep is taken back and eta /= 3
//
// Departs from [BZK19], whose eta stays the same, because each eta has a lowest F that its steps can reach:
// with eta constant in a sweep of one pass, a small network was stuck after ten of them while there was time
// for two hundred (docs/results.md). So sweeps grow: each is three times as long as the last, as far as there
// is time. The hinge names one label per sample, and a network that is often wrong learns less from that than
// from all of them, weighed by how wrong each is; at the end of the sweep only the hinge counts. Batch norm
// stays frozen.
//
// Where samples have transformed copies that count in F (--augment), every pass draws one copy of each.
// Copies that do not count, such as mirrored images (RefineOptions::sweep_samples), are drawn as often as the
// samples themselves at first, and more and more seldom as eta comes down: what F is over has the last word.
// The short runs, which ask what is best for F, do without them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/checkpoint.h"
#include "base/sample_subset.h"
#include "lwsvm/layer_updater.h"
#include "net/batch_runner.h"
#include "sgd/proximal_step.h"
#include "sgd/radius_race.h"

namespace lwsvm {

class Sweeper {
 public:
  static constexpr std::int64_t kBatch = 100;  // samples of one step

  explicit Sweeper(const RefineContext& context);
  ~Sweeper();

  // `current` is what the network is worth now; `number` counts moves and names the sweep's random numbers;
  // `passes_left`: about how many there is time for. nullopt: the observer wanted a stop, and the sweep stays
  // under way, to be saved.
  std::optional<MoveResult> sweep(std::uint64_t number, double passes_left, const NetworkQuality& current,
                                  RefineObserver& observer);

  bool under_way() const { return run_ != nullptr; }
  void step_back();  // a sweep under way is given up: the weights that it began with are in the graph again
  double seconds() const;  // of the sweep under way
  double eta() const { return eta_; }
  // The longest one was made, or is under way: the layers come next.
  bool has_grown() const { return has_grown_; }

  void save(Checkpoint& checkpoint) const;
  void restore(const Checkpoint& checkpoint);

 private:
  // The iterates of a sweep, and where it is.
  struct Run;

  bool find_radius(std::uint64_t number, double passes_left, RefineObserver& observer);
  bool short_run(std::uint64_t number, double eta, double batches, std::span<const float> start,
                 RefineObserver& observer);
  void begin(std::uint64_t number, double passes_left, double seconds_left);
  std::pair<double, bool> next_length(double passes_left) const;
  double passes_for_layers() const;
  double take_step(double eta);
  double differentiate(std::span<const std::int32_t> order, std::int64_t position, std::int64_t size);
  void choose_candidate();
  LossSums loss_on(const SampleSource& samples);  // of what is in the graph
  double objective_of(const LossSums& sums) const;
  std::vector<std::int32_t> order_of_pass(const Run& run) const;
  double copied_share(const Run& run) const;
  void set_covered(std::span<const float> weights);
  std::vector<float> covered() const;
  double step_seconds() const;  // about, of the next step
  double flops_per_pass() const { return 3 * static_cast<double>(pass_size()) * context_.flops_per_sample(); }
  std::int64_t pass_size() const { return context_.train_samples / context_.train.copies(); }

  RefineContext context_;
  const SampleSource& samples_;  // with their copies
  Graph& graph_;
  BatchRunner runner_;
  SampleSubset probe_;              // of the training part
  SampleSubset judge_;              // of short runs: of the validation part, if that is large enough
  ConstantAnswer constant_answer_;  // on the judge
  Loss smoothed_loss_;
  ProximalStep step_;
  std::vector<float> delta_, packed_;
  VectorExchange exchange_;
  double step_seconds_ = 0;  // of the last step, if alone
  double eta_ = 0;           // 0: not known yet
  double last_passes_ = 0;   // of the last sweep; 0: there was none
  double temperature_ = 0;   // of the loss when a sweep begins
  bool has_grown_ = false;
  std::unique_ptr<Run> run_;
};

}  // namespace lwsvm
