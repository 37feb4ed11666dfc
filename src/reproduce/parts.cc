#include "reproduce/parts.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/units.h"
#include "run/run_folder.h"
#include "run/settings.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::json;

// A resumed run goes to the folder where it was begun; here the next part begins where this one did.
class WorkingFolder {
 public:
  WorkingFolder() : folder_(fs::current_path()) {}
  ~WorkingFolder() {
    std::error_code ignored;
    fs::current_path(folder_, ignored);
  }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  fs::path folder_;
};

const std::string& folder_of(const Part& part) {
  return std::visit([](const auto& settings) -> const std::string& { return settings.run_folder; },
                    part.settings);
}

const std::string& network_of(const Part& part) {
  return std::visit([](const auto& settings) -> const std::string& { return settings.output; },
                    part.settings);
}

bool is_training(const Part& part) {
  return std::holds_alternative<TrainSettings>(part.settings);
}

const char* command_of(const Part& part) {
  return is_training(part) ? "train" : "refine";
}

// Without what does not change a number, and with what "null" stands for. Where a network came from a file,
// the arch is not its own.
json comparable(json settings) {
  if (!settings.value("init", "").empty()) settings.erase("arch");
  for (const char* key : {"input", "init", "output", "data_dir", "start", "eval_every"}) settings.erase(key);
  if (settings["split_seed"].is_null()) settings["split_seed"] = 0;
  return settings;
}

bool is_begun(const Part& part) {
  return fs::exists(checkpoint_path(folder_of(part)));
}

// Of the run in the part's folder. Throws Error unless it is one of this part.
json checked_settings(const Part& part) {
  const json meta = Checkpoint::load_meta(checkpoint_path(folder_of(part)));
  const json stored = meta.at("settings");
  std::string difference;
  if (meta.value("command", "") != command_of(part)) {
    difference = fmt::format("not of lwsvm {}", command_of(part));
  } else {
    const json found = comparable(stored), wanted = comparable_settings(part);
    for (const auto& [key, value] : wanted.items()) {
      const json& other = found.contains(key) ? found[key] : value;
      const bool may_grow = part.extends && key == "epochs" && other <= value;
      if (other != value && !may_grow)
        difference += fmt::format("{} {}, not {}; ", key, other.dump(), value.dump());
    }
    if (difference.size() > 2) difference.resize(difference.size() - 2);
  }
  if (!difference.empty())
    fail("reproduce", "{}: the run in this folder has other settings ({}); give another --out, or remove it",
         folder_of(part), difference);
  return stored;
}

std::vector<nlohmann::ordered_json> log_records(const Part& part) {
  const fs::path log = fs::path(folder_of(part)) / "log.jsonl";
  if (!fs::exists(log)) return {};
  return read_run_log(log).records;
}

std::optional<json> end_record(const Part& part) {
  const auto records = log_records(part);
  if (records.empty() || records.back().value("type", "") != "end") return std::nullopt;
  json result = records.back();
  result.erase("type");
  return result;
}

double seconds_of(const std::string& time_limit) {
  return time_limit.empty() ? std::numeric_limits<double>::infinity()
                            : parse_duration(time_limit, "time-limit");
}

// A refinement that ran out of time goes on if it is given more.
bool wants_more_time(const Part& part, const json& result) {
  const auto* refinement = std::get_if<RefineSettings>(&part.settings);
  return refinement && result.contains("time_limit") &&
         seconds_of(refinement->time_limit) > seconds_of(result["time_limit"].get<std::string>());
}

// The checkpoint comes last and at once, so that a copy is whole if it has one.
void copy_run(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::create_directories(to, code);
  if (code) fail("reproduce", "{}: cannot make the folder: {}", to.string(), code.message());
  write_file_atomically(to / "log.jsonl", read_file(from / "log.jsonl"));
  write_file_atomically(checkpoint_path(to.string()), read_file(checkpoint_path(from.string())));
}

RunResult run_settings(const Common& common, const Part& part, TrainSettings settings, Terminal& terminal) {
  if (is_begun(part)) {
    settings.resume_folder = settings.run_folder;
    settings.given = {"--epochs", "--eval-every"};
  }
  return run_training(common, std::move(settings), terminal);
}

RunResult run_settings(const Common& common, const Part& part, RefineSettings settings, Terminal& terminal) {
  if (is_begun(part)) settings.resume_folder = settings.run_folder;
  return run_refinement(common, std::move(settings), terminal);
}

}  // namespace

json comparable_settings(const Part& part) {
  const auto of = [](const auto& settings) { return comparable(settings_of(settings)); };
  return std::visit(of, part.settings);
}

std::optional<json> finished_result(const Part& part) {
  if (!is_begun(part)) return std::nullopt;
  const json settings = checked_settings(part);
  if (is_training(part) && settings.at("epochs") != comparable_settings(part).at("epochs"))
    return std::nullopt;  // to be extended
  if (!fs::exists(network_of(part))) return std::nullopt;
  std::optional<json> result = end_record(part);
  if (result && wants_more_time(part, *result)) return std::nullopt;
  return result;
}

json made_by(const Part& part) {
  json origin = json::object();
  const auto records = log_records(part);
  for (const char* key : {"version", "cpu", "cores"})
    if (!records.empty() && records.front().contains(key)) origin[key] = records.front()[key];
  return origin;
}

void check_start(const Part& part, const json& result, const json& start) {
  if (!result.contains("start")) return;
  const double found = result["start"].at("objective"), expected = start.at("objective");
  if (std::abs(found - expected) > 1e-6 * std::abs(expected))  // not ==: another machine rounds otherwise
    fail("reproduce",
         "{}: this run began at objective {:.6f}, but {} now ends at {:.6f}; remove the folder to run it "
         "again",
         folder_of(part), found, part.from, expected);
}

RunResult run_part(const Common& common, const Plan& plan, const Part& part, Terminal& terminal) {
  const WorkingFolder stays;
  if (part.extends && !is_begun(part)) copy_run(fs::path(plan.options.out) / part.from, folder_of(part));
  std::error_code code;
  fs::create_directories(folder_of(part), code);
  if (code) fail("reproduce", "{}: cannot make the folder: {}", folder_of(part), code.message());
  return std::visit([&](const auto& settings) { return run_settings(common, part, settings, terminal); },
                    part.settings);
}

}  // namespace lwsvm::cli
