#include "cli/run_display.h"

#include <cmath>

#include "base/units.h"

namespace lwsvm::cli {
namespace {

// Of a solve that is exact, rounding can leave a gap a little below zero, which would be shown as -0.00000.
double gap_to_show(double gap) {
  return std::abs(gap) < 5e-6 ? 0.0 : gap;
}

bool is_sweep(const RefineProgress& progress) {
  return progress.layer == "sweep";
}

std::string note_of(const RefineProgress& p) {
  if (is_sweep(p)) return fmt::format("loss {:.5f} eta {:.2g} step {:.2f}", p.loss, p.radius, p.mean_step);
  return fmt::format("primal {:.5f} dual {:.5f} gap {:.5f} step {:.2f} epoch {}", p.primal, p.dual,
                     gap_to_show(p.gap), p.mean_step, p.epoch + 1);
}

}  // namespace

void RunDisplay::follow(TrainSettings& settings) {
  settings.on_progress = [this](const TrainProgress& progress) { return show(progress), true; };
  settings.on_epoch = [this](const TrainEpoch& epoch) { return show(epoch), true; };
  settings.on_trial = [this](const RadiusTrial& trial) { show(trial); };
}

void RunDisplay::show(const TrainProgress& p) {
  if (!bar_)
    bar_.emplace(terminal_, fmt::format("epoch {}/{}", p.epoch, p.epochs),
                 static_cast<std::uint64_t>(p.samples), static_cast<std::uint64_t>(p.samples_done));
  if (bar_->due())
    bar_->update(static_cast<std::uint64_t>(p.samples_done), fmt::format("loss {:.4f}", p.running_loss));
  if (p.samples_done == p.samples) bar_.reset();
}

void RunDisplay::show(const TrainEpoch& e) {
  const double left = e.seconds / e.epoch * (e.epochs - e.epoch);
  const std::string speed = fmt::format("{:>7.0f} samples/s  {:>7}  left {:>7}", e.samples_per_second,
                                        format_duration(e.seconds), format_duration(left));
  if (e.evaluated)
    terminal_.line("epoch {:>3}/{}  objective {:.5f}  train {:6.2f}%{}  {}{}", e.epoch, e.epochs, e.objective,
                   100 * e.train_accuracy,
                   e.val_accuracy ? fmt::format("  val {:6.2f}%", 100 * *e.val_accuracy) : "", speed,
                   e.taken_back ? "  taken back: the objective would have risen" : "");
  else
    terminal_.line("epoch {:>3}/{}  {}", e.epoch, e.epochs, speed);
}

void RunDisplay::show(const RefineProgress& p) {
  if (p.begins) {
    const auto total = is_sweep(p) ? 1000 : 1000 * static_cast<std::uint64_t>(p.max_epochs);
    bar_.emplace(terminal_, fmt::format("pass {} {}", p.pass, p.layer), total);
  } else if (bar_ && bar_->due()) {
    bar_->update(static_cast<std::uint64_t>(1000 * (is_sweep(p) ? p.fraction : p.epoch + p.epoch_fraction)),
                 note_of(p));
  }
}

void RunDisplay::show(const RefineUpdate& u) {
  bar_.reset();
  const std::string how = u.form == "sweep" ? fmt::format("eta {:<8.2g} step {:.2f}", u.radius, u.mean_step)
                                            : fmt::format("{:<8} mu {:<8.3g} {:>2} epochs  gap {:.5f}",
                                                          u.form, u.mu, u.epochs, gap_to_show(u.gap));
  terminal_.line("pass {} {:<10} {}  F {:.5f} -> {:.5f}{}  {}  {}", u.pass, u.layer, how, u.before, u.after,
                 u.val_accuracy ? fmt::format("  val {:.2f}%", 100 * *u.val_accuracy) : "",
                 format_duration(u.seconds), u.accepted ? u.reason : "rejected: " + u.reason);
}

void RunDisplay::show(const RefinePass& p) {
  terminal_.line(
      "pass {} ends: objective {:.5f}  train {:.2f}%{}  {}", p.pass, p.objective, 100 * p.train_accuracy,
      p.val_accuracy ? fmt::format("  val {:.2f}%", 100 * *p.val_accuracy) : "", format_duration(p.seconds));
}

void RunDisplay::show(const RadiusTrial& t) {
  terminal_.line("  eta {:<8.2g} a short run comes to objective {:.5f} on a probe", t.radius, t.objective);
}

}  // namespace lwsvm::cli
