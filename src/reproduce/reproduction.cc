#include "reproduce/reproduction.h"

#include <filesystem>

#include "base/interrupt.h"
#include "pages/run_report.h"
#include "reproduce/parts.h"

namespace lwsvm::reproduce {
namespace {

std::string described(const Part& part) {
  if (const auto* training = std::get_if<TrainJob>(&part.job))
    return fmt::format("{} epochs of {}{}", training->train.epochs, training->train.solver,
                       part.from.empty() ? "" : (part.extends ? ", going on with " : ", from ") + part.from);
  return fmt::format("LW-SVM from {}, --mode {}", part.from, std::get<RefineJob>(part.job).mode);
}

// What was finished before. Throws Error, before hours of work are done, if a folder holds another run.
PartResults finished_results(const Plan& plan) {
  PartResults results;
  for (const Part& part : plan.parts)
    if (auto finished = finished_result(part)) results[part.name] = std::move(*finished);
  return results;
}

void write_page(const run::RunContext& context, const Plan& plan, const PartResults& results) {
  if (!has_report()) return context.messages->line("report.html is left out: built without the report");
  pages::ReportOptions options;
  options.title = plan.title;
  options.table = report_table(plan, results);
  options.data_dir = context.data_dir;
  options.threads = context.threads;
  const std::filesystem::path out = plan.options.out;
  std::vector<std::string> folders;
  for (const Part& part : plan.parts) folders.push_back((out / part.name).string());
  for (const std::string& warning :
       pages::write_run_report(folders, (out / "report.html").string(), options).warnings)
    context.messages->line("report.html: {}", warning);
}

// Nothing if it was stopped.
std::optional<PartResult> run_until_stopped(const run::RunContext& context, const Plan& plan,
                                            const Part& part) {
  try {
    return run_part(context, plan, part);
  } catch (const Interrupted&) {  // before it had begun
    return std::nullopt;
  }
}

}  // namespace

Reproduction reproduce(const ReproduceOptions& options, run::RunContext context) {
  Messages& messages = *context.messages;
  if (!context.data_dir.empty()) context.data_dir = std::filesystem::absolute(context.data_dir).string();
  Reproduction done{make_plan(options), {}, false};
  const Plan& plan = done.plan;
  done.results = finished_results(plan);
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    const std::string part_name = fmt::format("part {} of {}, {}", i + 1, plan.parts.size(), part.name);
    if (done.results.contains(part.name)) {
      messages.line("{}: was finished before", part_name);
    } else {
      messages.line("{}: {}", part_name, described(part));
      std::optional<PartResult> result = run_until_stopped(context, plan, part);
      if (!result) {
        messages.line("stopped in {}; the same command goes on with it", part_name);
        return done;
      }
      done.results[part.name] = std::move(*result);
    }
    if (!part.from.empty()) check_start(part, done.results[part.name], done.results.at(part.from));
    write_results(plan, done.results);  // a reproduction of days can be looked at while it runs
  }
  write_page(context, plan, done.results);
  done.finished = true;
  return done;
}

}  // namespace lwsvm::reproduce
