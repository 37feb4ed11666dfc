#include "cli/run_display.h"

#include <cmath>

#include "base/units.h"

namespace lwsvm::cli {
namespace {

// Of a solve that is exact, rounding can leave a gap a little below zero, which would be shown as -0.00000.
double gap_to_show(double gap) {
  return std::abs(gap) < 5e-6 ? 0.0 : gap;
}

}  // namespace

void RunDisplay::on_training(const TrainOptions& options, std::int64_t samples) {
  epochs_ = options.epochs;
  samples_ = samples;
}

void RunDisplay::on_batch(int epoch, std::int64_t done, double running_loss) {
  if (!bar_)
    bar_.emplace(terminal_, fmt::format("epoch {}/{}", epoch, epochs_), static_cast<std::uint64_t>(samples_),
                 static_cast<std::uint64_t>(done));
  if (bar_->due()) bar_->update(static_cast<std::uint64_t>(done), fmt::format("loss {:.4f}", running_loss));
  if (done == samples_) bar_.reset();
}

void RunDisplay::on_epoch(const EpochResult& result) {
  const double left = result.seconds / result.epoch * (epochs_ - result.epoch);
  const std::string speed = fmt::format("{:>7.0f} samples/s  {:>7}  left {:>7}", result.samples_per_second,
                                        format_duration(result.seconds), format_duration(left));
  if (result.evaluated)
    terminal_.line("epoch {:>3}/{}  objective {:.5f}  train {:6.2f}%{}  {}{}", result.epoch, epochs_,
                   result.objective, 100 * result.train_accuracy,
                   result.val_accuracy < 0 ? "" : fmt::format("  val {:6.2f}%", 100 * result.val_accuracy),
                   speed, result.taken_back ? "  taken back: the objective would have risen" : "");
  else
    terminal_.line("epoch {:>3}/{}  {}", result.epoch, epochs_, speed);
}

void RunDisplay::on_refining(const RefineOptions& options) {
  max_epochs_ = options.max_epochs;
}

void RunDisplay::on_open(int pass, const std::string& layer) {
  const auto total = layer == "sweep" ? 1000 : 1000 * static_cast<std::uint64_t>(max_epochs_);
  bar_.emplace(terminal_, fmt::format("pass {} {}", pass, layer), total);
}

void RunDisplay::on_solve(const SolveProgress& p, double /*seconds*/) {
  if (bar_ && bar_->due())
    bar_->update(static_cast<std::uint64_t>(1000 * (p.epoch + p.epoch_fraction)),
                 fmt::format("primal {:.5f} dual {:.5f} gap {:.5f} step {:.2f} epoch {}", p.primal, p.dual,
                             gap_to_show(p.gap), p.mean_step, p.epoch + 1));
}

void RunDisplay::on_sweep(const SweepProgress& p) {
  if (bar_ && bar_->due())
    bar_->update(static_cast<std::uint64_t>(1000 * p.fraction),
                 fmt::format("loss {:.5f} eta {:.2g} step {:.2f}", p.loss, p.eta, p.gamma));
}

void RunDisplay::on_update(const LayerUpdate& u, double /*seconds*/) {
  bar_.reset();
  const std::string how = u.form == "sweep" ? fmt::format("eta {:<8.2g} step {:.2f}", u.eta, u.gamma)
                                            : fmt::format("{:<8} mu {:<8.3g} {:>2} epochs  gap {:.5f}",
                                                          u.form, u.mu, u.epochs, gap_to_show(u.gap));
  terminal_.line("pass {} {:<10} {}  F {:.5f} -> {:.5f}{}  {}  {}", u.pass, u.layer, how, u.before, u.after,
                 u.val_accuracy < 0 ? "" : fmt::format("  val {:.2f}%", 100 * u.val_accuracy),
                 format_duration(u.seconds), u.accepted ? u.reason : "rejected: " + u.reason);
}

void RunDisplay::on_pass(int pass, const NetworkQuality& q, double seconds) {
  terminal_.line(
      "pass {} ends: objective {:.5f}  train {:.2f}%{}  {}", pass, q.objective, 100 * q.train_accuracy,
      q.val_accuracy < 0 ? "" : fmt::format("  val {:.2f}%", 100 * q.val_accuracy), format_duration(seconds));
}

void RunDisplay::on_race(double eta, double objective) {
  terminal_.line("  eta {:<8.2g} short runs lead to objective {:.5f} on a probe", eta, objective);
}

}  // namespace lwsvm::cli
