#include "reproduce/parts.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/units.h"
#include "report/result_json.h"
#include "run/refinement_run.h"
#include "run/run_folder.h"
#include "run/training_run.h"

namespace lwsvm::reproduce {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const std::string& folder_of(const Part& part) {
  return std::visit([](const auto& job) -> const std::string& { return job.run_folder; }, part.job);
}

const std::string& network_of(const Part& part) {
  return std::visit([](const auto& job) -> const std::string& { return job.output; }, part.job);
}

bool is_training(const Part& part) {
  return std::holds_alternative<TrainJob>(part.job);
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
  return fs::exists(run::checkpoint_path(folder_of(part)));
}

// Of the run in the part's folder. Throws Error unless it is one of this part.
json checked_settings(const Part& part) {
  const json meta = Checkpoint::load_meta(run::checkpoint_path(folder_of(part)));
  json stored = meta.at("settings");
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

PartResult result_of(json record) {
  PartResult result;
  record.get_to(result.end);
  if (record.contains("start")) result.start = record["start"].get<Quality>();
  record.at("seconds").get_to(result.seconds);
  result.time_limit = record.value("time_limit", "");
  result.record = std::move(record);
  return result;
}

std::optional<PartResult> logged_result(const Part& part) {
  const auto records = log_records(part);
  if (records.empty() || records.back().value("type", "") != "end") return std::nullopt;
  json record = records.back();
  record.erase("type");
  try {
    return result_of(std::move(record));
  } catch (const json::exception& error) {
    run::fail_other_version(folder_of(part), error.what());
  }
}

double seconds_of(const std::string& time_limit) {
  return time_limit.empty() ? std::numeric_limits<double>::infinity()
                            : parse_duration(time_limit, "time-limit");
}

// A refinement that ran out of time goes on if it is given more.
bool wants_more_time(const Part& part, const PartResult& result) {
  const auto* refinement = std::get_if<RefineJob>(&part.job);
  return refinement && !result.time_limit.empty() &&
         seconds_of(refinement->time_limit) > seconds_of(result.time_limit);
}

// The checkpoint comes last and at once, so that a copy is whole if it has one.
void copy_run(const fs::path& from, const fs::path& to) {
  std::error_code code;
  fs::create_directories(to, code);
  if (code) fail("reproduce", "{}: cannot make the folder: {}", to.string(), code.message());
  write_file_atomically(to / "log.jsonl", read_file(from / "log.jsonl"));
  write_file_atomically(run::checkpoint_path(to.string()), read_file(run::checkpoint_path(from.string())));
}

TrainSummary run_job(const run::RunContext& context, const Part& part, TrainJob job) {
  if (is_begun(part)) {
    job.resume_folder = job.run_folder;
    job.given = {"--epochs", "--eval-every"};
  }
  return run::run_training(std::move(job), context).summary;
}

RefineSummary run_job(const run::RunContext& context, const Part& part, RefineJob job) {
  if (is_begun(part)) job.resume_folder = job.run_folder;
  return run::run_refinement(std::move(job), context).summary;
}

}  // namespace

json comparable_settings(const Part& part) {
  const auto of = [](const auto& job) { return comparable(run::settings_of(job)); };
  return std::visit(of, part.job);
}

std::optional<PartResult> finished_result(const Part& part) {
  if (!is_begun(part)) return std::nullopt;
  const json settings = checked_settings(part);
  if (is_training(part) && settings.at("epochs") != comparable_settings(part).at("epochs"))
    return std::nullopt;  // to be extended
  if (!fs::exists(network_of(part))) return std::nullopt;
  std::optional<PartResult> result = logged_result(part);
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

void check_start(const Part& part, const PartResult& result, const PartResult& start) {
  if (!result.start) return;
  const double found = result.start->objective, expected = start.end.objective;
  if (std::abs(found - expected) > 1e-6 * std::abs(expected))  // not ==: another machine rounds otherwise
    fail("reproduce",
         "{}: this run began at objective {:.6f}, but {} now ends at {:.6f}; remove the folder to run it "
         "again",
         folder_of(part), found, part.from, expected);
}

std::optional<PartResult> run_part(const run::RunContext& context, const Plan& plan, const Part& part) {
  if (part.extends && !is_begun(part)) copy_run(fs::path(plan.options.out) / part.from, folder_of(part));
  std::error_code code;
  fs::create_directories(folder_of(part), code);
  if (code) fail("reproduce", "{}: cannot make the folder: {}", folder_of(part), code.message());
  return std::visit(
      [&](const auto& job) -> std::optional<PartResult> {
        const auto summary = run_job(context, part, job);
        return summary.finished ? std::optional(result_of(json(summary))) : std::nullopt;
      },
      part.job);
}

}  // namespace lwsvm::reproduce
