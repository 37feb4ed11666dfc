#include "run/checkpoint_writer.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace lwsvm::run {

namespace fs = std::filesystem;

CheckpointTimer::CheckpointTimer() {
  const char* variable = std::getenv("LWSVM_CHECKPOINT_SECONDS");
  if (!variable) return;
  const std::string text = variable;
  double seconds = -1;
  const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (mistake != std::errc() || end != text.data() + text.size() || !(seconds >= 0 && seconds <= 1e6))
    fail("run", "LWSVM_CHECKPOINT_SECONDS is '{}'; give a number of seconds, or unset it", text);
  interval_ = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

namespace {

// Only older ones: the other ranks may be writing their next parts already.
void remove_older_parts(const std::string& folder, std::uint64_t serial) {
  for (const auto& file : fs::directory_iterator(folder))
    if (const auto of = part_serial(file.path()); of && *of < serial) fs::remove(file.path());
}

}  // namespace

void CheckpointWriter::save() {
  Checkpoint checkpoint;
  put_state_(checkpoint);
  ++record_.serial;
  if (!team_.is_first() && !checkpoint.names().empty())
    checkpoint.save(part_path(record_.folder, record_.serial, team_.rank()));
  wait_for_all(team_);
  if (team_.is_first()) {
    put_notes(as_read_, checkpoint);
    save_run(checkpoint, record_, model_, log_->sync());
    remove_older_parts(record_.folder, record_.serial);
  }
  timer_.restart();
}

}  // namespace lwsvm::run
