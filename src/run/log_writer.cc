#include "run/log_writer.h"

#include <nlohmann/json.hpp>

namespace lwsvm::run {

void LogWriter::on_epoch(const EpochResult& result) {
  nlohmann::ordered_json record{{"type", "epoch"}, {"epoch", result.epoch}, {"seconds", result.seconds}};
  if (result.evaluated) {
    record["objective"] = result.objective;
    record["train_accuracy"] = result.train_accuracy;
    if (result.val_accuracy >= 0) record["val_accuracy"] = result.val_accuracy;
  }
  record["samples_per_second"] = result.samples_per_second;
  if (result.taken_back) record["taken_back"] = true;
  log_.write(record);
}

void LogWriter::on_open(int pass, const std::string& layer) {
  pass_ = pass;
  layer_ = layer;
}

void LogWriter::on_solve(const SolveProgress& p, double seconds) {
  if (!p.epoch_end) return;
  log_.write({{"type", "inner"},
              {"pass", pass_},
              {"layer", layer_},
              {"epoch", p.epoch},
              {"seconds", seconds},
              {"primal", p.primal},
              {"dual", p.dual},
              {"gap", p.gap},
              {"mean_step", p.mean_step}});
}

void LogWriter::on_update(const LayerUpdate& u, double seconds) {
  nlohmann::ordered_json record{
      {"type", "update"},   {"pass", u.pass},           {"layer", u.layer},
      {"form", u.form},     {"epoch", u.epochs},        {"seconds", seconds},
      {"primal", u.primal}, {"dual", u.dual},           {"gap", u.gap},
      {"mu", u.mu},         {"predicted", u.predicted}, {"actual", u.actual},
      {"before", u.before}, {"objective", u.after},     {"train_accuracy", u.train_accuracy}};
  if (u.val_accuracy >= 0) {
    record["val_accuracy"] = u.val_accuracy;
    record["val_loss"] = u.val_loss;
  }
  if (u.form == "sweep") {
    record["eta"] = u.eta;
    record["mean_step"] = u.gamma;
  }
  record["accepted"] = u.accepted;
  record["reason"] = u.reason;
  record["dual_bytes"] = u.dual_bytes;
  log_.write(record);
}

}  // namespace lwsvm::run
