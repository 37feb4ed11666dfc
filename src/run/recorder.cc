#include "run/recorder.h"

#include <algorithm>

namespace lwsvm::run {

void Recorder::begin_training(const TrainOptions& options, std::int64_t samples) {
  for (RunObserver* observer : observers_) observer->on_training(options, samples);
}

void Recorder::begin_refining(const RefineOptions& options) {
  for (RunObserver* observer : observers_) observer->on_refining(options);
}

void Recorder::on_race(double eta, double objective) {
  for (RunObserver* observer : observers_) observer->on_race(eta, objective);
}

bool Recorder::stop_requested() {
  return std::ranges::any_of(observers_, [](RunObserver* observer) { return observer->stop_requested(); });
}

void Recorder::on_batch(int epoch, std::int64_t done, double running_loss) {
  for (RunObserver* observer : observers_) observer->on_batch(epoch, done, running_loss);
}

void Recorder::on_epoch(const EpochResult& result) {
  for (RunObserver* observer : observers_) observer->on_epoch(result);
}

void Recorder::on_safe_point(bool epoch_ended) {
  for (RunObserver* observer : observers_) observer->on_safe_point(epoch_ended);
}

void Recorder::on_open(int pass, const std::string& layer) {
  for (RunObserver* observer : observers_) observer->on_open(pass, layer);
}

void Recorder::on_progress(const SolveProgress& progress) {
  for (RunObserver* observer : observers_) observer->on_solve(progress, seconds_());
}

void Recorder::on_sweep_progress(const SweepProgress& progress) {
  for (RunObserver* observer : observers_) observer->on_sweep(progress);
}

void Recorder::on_update(const LayerUpdate& update) {
  for (RunObserver* observer : observers_) observer->on_update(update, seconds_());
}

void Recorder::on_pass(int pass, const NetworkQuality& quality) {
  for (RunObserver* observer : observers_) observer->on_pass(pass, quality, seconds_());
}

bool Recorder::wants_to_save() {
  return std::ranges::any_of(observers_, [](RunObserver* observer) { return observer->wants_to_save(); });
}

void Recorder::on_safe_point() {
  on_safe_point(false);
}

double Recorder::seconds_left() {
  double min = std::numeric_limits<double>::infinity();
  for (RunObserver* observer : observers_) min = std::min(min, observer->seconds_left());
  return min;
}

}  // namespace lwsvm::run
