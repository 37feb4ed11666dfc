#include "cli/run_folder.h"

#include "base/error.h"
#include "base/machine.h"
#include "base/version.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

namespace lwsvm::cli {

std::filesystem::path checkpoint_path(const std::string& folder) {
  return std::filesystem::path(folder) / "checkpoint.bin";
}

void save_run(Checkpoint& checkpoint, const std::string& folder, const std::string& command,
              const nlohmann::json& settings, const Model& model, std::uint64_t log_offset) {
  checkpoint.meta() = {{"command", command}, {"settings", settings}, {"log_offset", log_offset}};
  const std::string bytes = to_onnx_bytes(model);
  checkpoint.put("model", std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  checkpoint.save(checkpoint_path(folder));
}

SavedRun load_run(const std::string& folder, const std::string& command) {
  const auto path = checkpoint_path(folder);
  if (!std::filesystem::exists(path))
    fail("resume", "{}: there is no checkpoint here; start with `lwsvm {} --run {}`", path.string(), command, folder);
  SavedRun run;
  run.checkpoint = Checkpoint::load(path);
  const nlohmann::json& meta = run.checkpoint.meta();
  if (meta.value("command", "") != command) fail("resume", "{} is not a run of `lwsvm {}`", folder, command);
  run.settings = meta.at("settings");
  run.log_offset = meta.at("log_offset");
  const auto bytes = run.checkpoint.get<std::uint8_t>("model");
  run.model = from_onnx_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  return run;
}

nlohmann::ordered_json run_record(const std::string& command, const nlohmann::json& settings, const Task& task) {
  const Machine machine = describe_machine();
  return {{"type", "run"},
          {"command", command},
          {"settings", settings},
          {"train_samples", task.training.size()},
          {"val_samples", task.validation.size()},
          {"test_samples", task.test.size()},
          {"version", version_line()},
          {"cpu", machine.cpu},
          {"cores", machine.cores}};
}

}  // namespace lwsvm::cli
