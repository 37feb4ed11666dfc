#include "reproduce/results.h"

#include <filesystem>

#include "base/atomic_file.h"
#include "base/machine.h"
#include "base/version.h"
#include "report/json_text.h"

namespace lwsvm::reproduce {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

const PartResult* find(const PartResults& results, const std::string& part) {
  const auto found = results.find(part);
  return found == results.end() ? nullptr : &found->second;
}

// The paper's own precision, and more where it would say nothing: a minute is 0.017 h.
std::string time_text(double seconds, const std::string& unit) {
  if (unit == "h") return fmt::format("{:.{}f}", seconds / 3600, seconds < 360 ? 3 : 2);
  return fmt::format("{:.{}f}", seconds, seconds < 10 ? 1 : 0);
}

std::string percent(double fraction) {
  return fmt::format("{:.2f}%", 100 * fraction);
}

// "124+183" for a refined network, like the paper: the solver's time, then that of LW-SVM.
std::string our_time(const Plan& plan, const PartResults& results, const Row& row) {
  const PartResult* own = find(results, row.part);
  if (!own) return "-";
  std::string time = time_text(own->seconds, plan.time_unit);
  if (row.solver_part.empty()) return time;
  const PartResult* solver = find(results, row.solver_part);
  return (solver ? time_text(solver->seconds, plan.time_unit) : "?") + "+" + time;
}

std::string paper_time(const PaperRow& row) {
  return row.refinement_time > 0 ? fmt::format("{}+{}", row.time, row.refinement_time)
                                 : fmt::format("{}", row.time);
}

// Objective, training accuracy, time, test accuracy.
std::vector<std::string> our_cells(const Plan& plan, const PartResults& results, const Row& row) {
  const PartResult* own = find(results, row.part);
  if (!own) return {"-", "-", "-", "-"};
  return {fmt::format("{:.4f}", own->end.objective), percent(own->end.train_accuracy),
          our_time(plan, results, row), own->end.test_accuracy ? percent(*own->end.test_accuracy) : "-"};
}

std::vector<std::string> paper_cells(const Row& row) {
  if (!row.paper) return {"-", "-", "-", "-"};
  return {fmt::format("{:.3f}", row.paper->objective), fmt::format("{:.2f}%", row.paper->train_accuracy),
          paper_time(*row.paper), fmt::format("{:.2f}%", row.paper->test_accuracy)};
}

ordered_json paper_json(const PaperRow& row, const std::string& unit) {
  const double second = unit == "h" ? 3600 : 1;
  ordered_json value{{"epochs", row.epochs},
                     {"objective", row.objective},
                     {"train_accuracy", row.train_accuracy / 100},
                     {"seconds", row.time * second},
                     {"test_accuracy", row.test_accuracy / 100}};
  if (row.refinement_time > 0) value["refinement_seconds"] = row.refinement_time * second;
  return value;
}

constexpr const char* kPaper = "paper";  // heads the paper's columns

std::string exactly(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "";
}

}  // namespace

Table readable_table(const Plan& plan, const PartResults& results) {
  const bool with_paper = !plan.citation.empty();
  std::vector<std::string> headings{"solver (epochs)"};
  for (const std::string& heading : {std::string("objective"), std::string("training"),
                                     fmt::format("time ({})", plan.time_unit), std::string("testing")}) {
    headings.push_back(heading);
    if (with_paper) headings.emplace_back(kPaper);
  }
  Table table(std::move(headings));
  for (const Row& row : plan.rows) {
    const std::vector<std::string> ours = our_cells(plan, results, row), theirs = paper_cells(row);
    std::vector<std::string> cells{row.label};
    for (std::size_t i = 0; i < ours.size(); ++i) {
      cells.push_back(ours[i]);
      if (with_paper) cells.push_back(theirs[i]);
    }
    table.add(std::move(cells));
    if (row.group_ends && &row != &plan.rows.back()) table.add_rule();
  }
  return table;
}

ReportTable report_table(const Plan& plan, const PartResults& results) {
  const Table table = readable_table(plan, results);
  ReportTable shown{plan.citation.empty() ? "Results" : "The paper's table",
                    plan.caption,
                    table.headings(),
                    table.rows(),
                    {}};
  for (std::size_t column = 0; column < shown.headings.size(); ++column)
    if (shown.headings[column] == kPaper) shown.beside.push_back(static_cast<int>(column));
  return shown;
}

Table exact_table(const Plan& plan, const PartResults& results) {
  Table table({"solver", "part", "objective", "train_accuracy", "val_accuracy", "test_accuracy", "seconds",
               "solver_seconds", "paper_objective", "paper_train_accuracy", "paper_test_accuracy",
               "paper_time", "paper_time_unit"});
  for (const Row& row : plan.rows) {
    std::vector<std::string> cells{row.label, row.part};
    if (const PartResult* own = find(results, row.part)) {
      const Quality& end = own->end;
      for (const std::optional<double>& number :
           {std::optional(end.objective), std::optional(end.train_accuracy), end.val_accuracy,
            end.test_accuracy, std::optional(own->seconds)})
        cells.push_back(exactly(number));
    } else {
      cells.resize(cells.size() + 5);
    }
    const PartResult* solver = find(results, row.solver_part);
    cells.push_back(solver ? exactly(solver->seconds) : "");
    if (row.paper) {
      for (const double figure :
           {row.paper->objective, row.paper->train_accuracy / 100, row.paper->test_accuracy / 100})
        cells.push_back(fmt::format("{:.6g}", figure));
      cells.push_back(paper_time(*row.paper));
      cells.push_back(plan.time_unit);
    }
    table.add(std::move(cells));
  }
  return table;
}

ordered_json results_json(const Plan& plan, const PartResults& results) {
  const Machine machine = describe_machine();
  ordered_json value{
      {"experiment", plan.options.experiment},
      {"scale", plan.options.scale},
      {"data", plan.options.data},
      {"caption", plan.caption},
      {"version", version_line()},
      {"machine", {{"cpu", machine.cpu}, {"cores", machine.cores}, {"memory", machine.memory}}}};
  for (const Part& part : plan.parts) {
    const PartResult* result = find(results, part.name);
    json settings = comparable_settings(part);
    if (const auto* refinement = std::get_if<RefineJob>(&part.job))
      settings["time_limit"] = refinement->time_limit;
    value["parts"].push_back({{"name", part.name},
                              {"from", part.from},
                              {"settings", std::move(settings)},
                              {"made_by", result ? made_by(part) : json()},
                              {"result", result ? result->record : json()}});
  }
  for (const Row& row : plan.rows)
    value["rows"].push_back({{"solver", row.label},
                             {"part", row.part},
                             {"paper", row.paper ? paper_json(*row.paper, plan.time_unit) : ordered_json()}});
  if (!plan.citation.empty()) value["citation"] = plan.citation;
  return value;
}

void write_results(const Plan& plan, const PartResults& results) {
  const fs::path out = plan.options.out;
  const Table table = readable_table(plan, results);
  write_file_atomically(out / "table.md", table.markdown() + "\n" + plan.caption + "\n");
  write_file_atomically(out / "table.csv", exact_table(plan, results).csv());
  write_file_atomically(out / "table.tex", table.latex(plan.caption));
  write_file_atomically(out / "results.json", json_text(results_json(plan, results), 2) + "\n");
}

}  // namespace lwsvm::reproduce
