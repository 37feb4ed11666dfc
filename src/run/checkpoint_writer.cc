#include "run/checkpoint_writer.h"

#include <charconv>
#include <cstdlib>
#include <string>

#include "base/error.h"

namespace lwsvm::run {

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

void CheckpointWriter::save() {
  Checkpoint checkpoint;
  put_state_(checkpoint);
  put_notes(as_read_, checkpoint);
  save_run(checkpoint, record_, model_, log_.sync());
  timer_.restart();
}

}  // namespace lwsvm::run
