#include "run/run_folder.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/version.h"
#include "data/registry.h"
#include "data/synthetic.h"
#include "engine/instruction_set.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

namespace lwsvm::run {

namespace fs = std::filesystem;

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

std::filesystem::path part_path(const std::string& folder, std::uint64_t serial, int rank) {
  return std::filesystem::path(folder) / fmt::format("checkpoint-{}.rank-{}.bin", serial, rank);
}

std::optional<std::uint64_t> part_serial(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  constexpr std::string_view begin = "checkpoint-";
  std::uint64_t serial = 0;
  if (!name.starts_with(begin)) return std::nullopt;
  const char* const last = name.data() + name.size();
  const auto [end, mistake] = std::from_chars(name.data() + begin.size(), last, serial);
  if (mistake != std::errc() || !std::string_view(end, last).starts_with(".rank-")) return std::nullopt;
  return serial;
}

void save_run(Checkpoint& checkpoint, const RunRecord& record, const Model& model, std::uint64_t log_offset) {
  checkpoint.meta() = {{"command", record.command},
                       {"settings", record.settings},
                       {"working_folder", record.working_folder.string()},
                       {"data_checksum", record.data_checksum},
                       {"log_offset", log_offset},
                       {"ranks", record.ranks},
                       {"serial", record.serial}};
  const std::string bytes = to_onnx_bytes(model);
  checkpoint.put_view("model", std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  checkpoint.save(checkpoint_path(record.folder));
}

void fail_other_version(const std::string& folder, const std::string& problem) {
  fail("resume",
       "{}: the run was begun by another version of lwsvm, whose settings this one ({}) cannot read: {}; go "
       "on with that version, or begin anew",
       folder, version_line(), problem);
}

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "--max-epochs" is the setting max_epochs.
std::string setting_of(const std::string& option) {
  if (option == "--lr") return "learning_rate";
  if (option == "network") return "input";
  std::string key = option.substr(option.find_first_not_of('-'));
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

// 1e-4 is 0.0001, also where it is kept as it was written.
bool same_setting(const nlohmann::json& a, const nlohmann::json& b) {
  if (a == b || !a.is_string() || !b.is_string()) return a == b;
  const auto number = [](const std::string& text) -> std::optional<double> {
    double value = 0;
    const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), value);
    return mistake == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  };
  const auto x = number(a.get<std::string>()), y = number(b.get<std::string>());
  return x && y && *x == *y;
}

}  // namespace

nlohmann::json resumed_settings(const SavedRun& saved, const nlohmann::json& asked,
                                const std::vector<std::string>& given,
                                const std::vector<std::string>& changeable) {
  nlohmann::json settings = saved.settings;
  std::vector<std::string> contradictions;
  for (const std::string& option : given) {
    const std::string key = setting_of(option);
    if (contains(changeable, option)) {
      if (settings.contains(key)) settings[key] = asked.at(key);
    } else if (!settings.contains(key) || !asked.contains(key)) {
      contradictions.push_back(option);
    } else if (!same_setting(settings[key], asked[key])) {
      const bool is_given = !settings[key].is_null() && settings[key] != nlohmann::json(std::string());
      contradictions.push_back(
          fmt::format("{} (which is {} there)", option, is_given ? settings[key].dump() : "not given"));
    }
  }
  if (!contradictions.empty())
    fail("resume",
         "{}: a run goes on with its own settings, and cannot change {}; leave out what differs, or "
         "begin another run with --run. What may be given anew: {}",
         saved.folder, fmt::join(contradictions, ", "), fmt::join(changeable, ", "));
  return settings;
}

// As MessagePack, which takes the bytes of other programs as they are.
void put_notes(const ModelInfo& info, Checkpoint& checkpoint) {
  const nlohmann::json notes{{"lambda", info.lambda ? nlohmann::json(*info.lambda) : nlohmann::json()},
                             {"data", info.data},
                             {"classes", info.classes},
                             {"class_names", info.class_names},
                             {"metadata", info.metadata}};
  checkpoint.put("notes", nlohmann::json::to_msgpack(notes));
}

ModelInfo notes_of(const Checkpoint& checkpoint, ModelInfo info) {
  if (!checkpoint.has("notes")) return info;
  const auto bytes = checkpoint.get<std::uint8_t>("notes");
  const auto notes = nlohmann::json::from_msgpack(bytes.begin(), bytes.end());
  info.lambda.reset();
  if (const auto& lambda = notes.at("lambda"); !lambda.is_null()) info.lambda = lambda.get<double>();
  notes.at("data").get_to(info.data);
  notes.at("classes").get_to(info.classes);
  notes.at("class_names").get_to(info.class_names);
  notes.at("metadata").get_to(info.metadata);
  return info;
}

void check_same_data(const SavedRun& saved, const Task& task) {
  if (saved.data_checksum && *saved.data_checksum != checksum(task.data))
    fail("resume",
         "{}: the data set {} is not the one that the run began with: its samples or labels have changed "
         "since. Put the old one back (--data-dir), or begin another run",
         saved.folder, task.data.name);
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
  try {
    if (meta.at("command") != command) fail("resume", "{} is not a run of `lwsvm {}`", folder, command);
    run.settings = meta.at("settings");
    run.log_offset = meta.at("log_offset");
    if (meta.contains("data_checksum")) run.data_checksum = meta.at("data_checksum").get<std::uint32_t>();
    run.ranks = meta.value("ranks", 1);
    run.serial = meta.value("serial", std::uint64_t{0});
    run.working_folder = meta.at("working_folder").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    fail_other_version(folder, error.what());
  }
  const auto bytes = run.checkpoint.get<std::uint8_t>("model");
  run.model = from_onnx_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  return run;
}

RunOrigin::RunOrigin(const std::optional<SavedRun>& saved) {
  if (!saved) return;
  std::error_code ignored;
  if (!fs::is_directory(saved->working_folder, ignored)) return;
  begun_in_ = saved->working_folder;
  if (!fs::equivalent(begun_in_, fs::path("."), ignored)) elsewhere_ = begun_in_;
}

std::string RunOrigin::path(const std::string& path) const {
  return path.empty() || elsewhere_.empty() ? path : (elsewhere_ / path).lexically_normal().string();
}

TaskOptions RunOrigin::task(TaskOptions options) const {
  options.data_dir = path(options.data_dir);
  options.delta = path(options.delta);
  if (!is_synthetic(options.data) && !find_known(options.data)) options.data = path(options.data);
  return options;
}

fs::path RunOrigin::folder() const {
  return begun_in_.empty() ? fs::current_path() : begun_in_;
}

RunRecord record_of(const std::string& command, const std::string& folder, nlohmann::json settings,
                    const RunOrigin& origin, const Task& task) {
  return {command, folder, std::move(settings), origin.folder(), checksum(task.data)};
}

nlohmann::ordered_json run_record(const RunRecord& record, const Task& task) {
  const Machine machine = describe_machine();
  return {{"type", "run"},
          {"command", record.command},
          {"settings", record.settings},
          {"train_samples", task.training.size()},
          {"val_samples", task.validation.size()},
          {"test_samples", task.test.size()},
          {"version", version_line()},
          {"cpu", machine.cpu},
          {"instructions", instruction_set_name()},
          {"cores", machine.cores}};
}

}  // namespace lwsvm::run
