#include "report/run_history.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "report/run_log.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::optional<double> number(const ordered_json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_number()) return {};
  return found->get<double>();
}

bool has_type(const ordered_json& record) {
  const auto found = record.find("type");
  return found != record.end() && found->is_string();
}

// The settings but for what a longer run may have different.
ordered_json comparable_settings(const RunHistory& run) {
  ordered_json settings = run.settings();
  for (const char* name : {"epochs", "output", "eval_every"}) settings.erase(name);
  return settings;
}

// How many epochs of `whole` repeat those of `part`, to the bit wherever both were evaluated; 0 unless all of
// `part` do and `whole` goes on.
int repeated_epochs(const RunHistory& part, const RunHistory& whole) {
  const auto few = part.all("epoch"), many = whole.all("epoch");
  if (few.size() >= many.size()) return 0;
  bool compared = false;
  for (std::size_t i = 0; i < few.size(); ++i) {
    if (number(few[i], "epoch") != number(many[i], "epoch")) return 0;
    const auto a = number(few[i], "objective"), b = number(many[i], "objective");
    if (a && b && *a != *b) return 0;
    compared = compared || (a && b);
  }
  return compared ? static_cast<int>(few.size()) : 0;
}

// The longest run that `whole` continues.
void find_shorter(const std::vector<RunHistory>& runs, RunHistory& whole) {
  if (whole.first("run").value("command", ordered_json()) != "train") return;
  const ordered_json settings = comparable_settings(whole);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (&runs[i] == &whole || comparable_settings(runs[i]) != settings) continue;
    const int shared = repeated_epochs(runs[i], whole);
    if (shared <= whole.shared_epochs) continue;
    whole.shorter = static_cast<int>(i);
    whole.shared_epochs = shared;
  }
}

// The last objective of a run that trained or refined.
std::optional<double> final_objective(const RunHistory& run) {
  std::optional<double> result;
  for (const ordered_json& record : run.records)
    if (const auto value = number(record, "objective")) result = value;
  return result;
}

std::optional<double> start_objective(const RunHistory& run) {
  const ordered_json start = run.first("run").value("start", ordered_json());
  return start.is_object() ? number(start, "objective") : std::nullopt;
}

// When `parent` had the network that `child` starts from: at its end, unless it went on later (train
// --resume) and its log tells which step it was.
double time_of_start(const RunHistory& parent, const RunHistory& child) {
  const auto start = start_objective(child);
  double seconds = parent.seconds();
  for (const ordered_json& record : parent.records)
    if (start && number(record, "objective") == start) seconds = number(record, "seconds").value_or(seconds);
  return seconds;
}

// By the network's file; where several runs wrote the same one, the run that ended where this one starts.
void find_parent(const std::vector<RunHistory>& runs, RunHistory& child) {
  if (child.input.empty()) return;
  const auto start = start_objective(child);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (&runs[i] == &child || runs[i].output != child.input) continue;
    if (child.parent < 0 || (start && final_objective(runs[i]) == start)) child.parent = static_cast<int>(i);
  }
}

// A run's shift needs that of the run before it. `depth` ends a circle of runs that overwrote each other's
// networks.
double find_shift(const std::vector<RunHistory>& runs, const RunHistory& run, std::size_t depth) {
  if (depth > runs.size()) return 0;
  if (run.shorter >= 0) {
    const RunHistory& part = runs[static_cast<std::size_t>(run.shorter)];
    const auto shared = static_cast<std::size_t>(run.shared_epochs) - 1;
    return find_shift(runs, part, depth + 1) + number(part.all("epoch")[shared], "seconds").value_or(0) -
           number(run.all("epoch")[shared], "seconds").value_or(0);
  }
  if (run.parent < 0) return 0;
  const RunHistory& parent = runs[static_cast<std::size_t>(run.parent)];
  return find_shift(runs, parent, depth + 1) + time_of_start(parent, run);
}

}  // namespace

const ordered_json& RunHistory::first(const std::string& type) const {
  static const ordered_json nothing = ordered_json::object();
  const auto found = std::find_if(records.begin(), records.end(),
                                  [&](const auto& record) { return record["type"] == type; });
  return found == records.end() ? nothing : *found;
}

std::vector<ordered_json> RunHistory::all(const std::string& type) const {
  std::vector<ordered_json> result;
  std::copy_if(records.begin(), records.end(), std::back_inserter(result),
               [&](const auto& record) { return record["type"] == type; });
  return result;
}

ordered_json RunHistory::settings() const {
  ordered_json latest = ordered_json::object();
  for (const ordered_json& record : records) {
    if (record["type"] != "run" && record["type"] != "resume") continue;
    if (const auto found = record.find("settings"); found != record.end() && found->is_object())
      latest = *found;
  }
  return latest;
}

ordered_json RunHistory::setting(const std::string& name) const {
  return settings().value(name, ordered_json());
}

std::string RunHistory::text_setting(const std::string& name) const {
  const ordered_json value = setting(name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

double RunHistory::seconds() const {
  double last = 0;
  for (const ordered_json& record : records) last = std::max(last, number(record, "seconds").value_or(0));
  return last;
}

std::string RunHistory::name() const {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (path.filename() == "log.jsonl") path = path.parent_path();
  return path.filename().string();
}

RunHistory read_history(const fs::path& run) {
  const fs::path file = fs::is_directory(run) ? run / "log.jsonl" : run;
  if (!fs::exists(run)) fail("report", "{}: there is no such run folder", run.string());
  if (!fs::exists(file))
    fail("report", "{}: there is no log.jsonl; train and refine leave one if they are begun with --run {}",
         run.string(), run.string());
  RunHistory history;
  history.folder = run.string();
  const auto note = [&](int line, const char* what) {
    history.problems.push_back(fmt::format("{}: line {} {}", file.string(), line, what));
  };
  const RunLogContent content = read_run_log(file, BrokenLines::skip);
  for (const int line : content.broken) note(line, "is not a JSON object; left out");
  for (std::size_t i = 0; i < content.records.size(); ++i) {
    if (has_type(content.records[i]))
      history.records.push_back(content.records[i]);
    else
      note(content.lines[i], "has no \"type\", as every record of lwsvm has; left out");
  }
  if (content.truncated)
    note(content.last_line, "is not a whole JSON object: the run was killed there, or is still writing");
  if (content.records.empty() && history.problems.empty())
    history.problems.push_back(fmt::format("{}: is empty", file.string()));
  else if (history.first("run").empty())
    history.problems.push_back(
        fmt::format("{}: has no \"run\" record, so its settings are not known", file.string()));
  return history;
}

void link_runs(std::vector<RunHistory>& runs) {
  for (RunHistory& run : runs) {
    find_parent(runs, run);
    find_shorter(runs, run);
  }
  for (RunHistory& run : runs) run.shift = find_shift(runs, run, 0);
}

}  // namespace lwsvm
