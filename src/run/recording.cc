#include "run/recording.h"

#include "report/result_json.h"

namespace lwsvm::run {

void Recording::open(const RunRecord& record, const std::optional<SavedRun>& saved,
                     const nlohmann::ordered_json& first, const Model& model, const ModelInfo& as_read,
                     std::function<void(Checkpoint&)> put_state) {
  if (!team_.is_first()) {
    wait_for_all(team_);  // the first one tidies the folder up before anybody writes into it
    recorder_.add(checkpoints_.emplace(record, model, as_read, nullptr, std::move(put_state), team_));
    return;
  }
  if (saved) {
    log_.emplace(record.folder, saved->log_offset);
    if (record.settings != saved->settings) log_->write({{"type", "resume"}, {"settings", record.settings}});
  } else {
    log_.emplace(record.folder);
    log_->write(first);
  }
  wait_for_all(team_);
  recorder_.add(log_writer_.emplace(*log_));
  recorder_.add(checkpoints_.emplace(record, model, as_read, &*log_, std::move(put_state), team_));
}

void Recording::save() {
  if (checkpoints_) checkpoints_->save();
}

void Recording::write(const nlohmann::ordered_json& record) {
  if (log_) log_->write(record);
}

void Recording::end(const nlohmann::json& result) {
  if (log_) write_end(*log_, result);
}

}  // namespace lwsvm::run
