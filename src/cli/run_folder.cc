#include "cli/run_folder.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/version.h"
#include "engine/instruction_set.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

namespace lwsvm::cli {

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

void check_output(const char* command, const std::string& output, const std::string& input,
                  const std::string& run_folder) {
  const fs::path path = output;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (fs::is_directory(path) || !path.has_filename())
    fail(command, "{} is a folder; -o takes the name of a file", output);
  const bool made_by_run =
      !run_folder.empty() &&
      folder.lexically_normal() == (fs::path(run_folder) / "").lexically_normal().parent_path();
  if (!made_by_run && !fs::is_directory(folder))
    fail(command, "{}: there is no folder {}; make it first, or give another -o", output, folder.string());
  if (!input.empty() && fs::exists(path) && fs::exists(input) && fs::equivalent(input, path))
    fail(command, "{} would overwrite the network it starts from; give another -o", output);
  if (fs::is_directory(folder)) check_writable(path);
}

std::filesystem::path checkpoint_path(const std::string& folder) {
  return std::filesystem::path(folder) / "checkpoint.bin";
}

void save_run(Checkpoint& checkpoint, const std::string& folder, const std::string& command,
              const nlohmann::json& settings, const Model& model, std::uint64_t log_offset) {
  checkpoint.meta() = {{"command", command},
                       {"settings", settings},
                       {"working_folder", fs::current_path().string()},
                       {"log_offset", log_offset}};
  const std::string bytes = to_onnx_bytes(model);
  checkpoint.put("model", std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  checkpoint.save(checkpoint_path(folder));
}

void fail_other_version(const std::string& folder, const std::string& problem) {
  fail("resume",
       "{}: the run was begun by another version of lwsvm, whose settings this one ({}) cannot read: {}; go "
       "on with that version, or begin anew",
       folder, version_line(), problem);
}

SavedRun load_run(const std::string& folder, const std::string& command) {
  const auto path = checkpoint_path(folder);
  if (!std::filesystem::exists(path))
    fail("resume", "{}: there is no checkpoint here; start with `lwsvm {} --run {}`", path.string(), command,
         folder);
  SavedRun run;
  run.folder = fs::absolute(folder).lexically_normal().string();
  run.checkpoint = Checkpoint::load(path);
  const nlohmann::json& meta = run.checkpoint.meta();
  fs::path begun_in;
  try {
    if (meta.at("command") != command) fail("resume", "{} is not a run of `lwsvm {}`", folder, command);
    run.settings = meta.at("settings");
    run.log_offset = meta.at("log_offset");
    begun_in = meta.at("working_folder").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    fail_other_version(folder, error.what());
  }
  const auto bytes = run.checkpoint.get<std::uint8_t>("model");
  run.model = from_onnx_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  std::error_code ignored;
  if (fs::is_directory(begun_in, ignored)) fs::current_path(begun_in);
  return run;
}

nlohmann::ordered_json run_record(const std::string& command, const nlohmann::json& settings,
                                  const Task& task) {
  const Machine machine = describe_machine();
  return {{"type", "run"},
          {"command", command},
          {"settings", settings},
          {"train_samples", task.training.size()},
          {"val_samples", task.validation.size()},
          {"test_samples", task.test.size()},
          {"version", version_line()},
          {"cpu", machine.cpu},
          {"instructions", instruction_set_name()},
          {"cores", machine.cores}};
}

}  // namespace lwsvm::cli
