// lwsvm eval: loss, objective and accuracy of a network on a data set.
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "report/json_text.h"
#include "run/evaluation.h"

namespace lwsvm::cli {
namespace {

int eval(const Common& common, const run::EvaluateJob& job) {
  Terminal terminal(stderr, common.quiet);
  const auto [found, data] = run::run_evaluation(job, run_context(common, terminal));
  if (common.json) {
    const nlohmann::ordered_json result{{"objective", found.objective},
                                        {"accuracy", found.accuracy},
                                        {"loss", found.loss},
                                        {"lambda", found.lambda},
                                        {"regulariser", found.regulariser},
                                        {"samples", found.samples},
                                        {"correct", found.correct},
                                        {"split", job.split},
                                        {"data", data},
                                        {"model", job.model}};
    fmt::print("{}\n", json_text(result));
  } else {
    fmt::print("{} on {} {}: accuracy {:.2f}% ({} of {}), loss {:.5f}, objective {:.5f} (lambda {})\n",
               job.model, data, job.split, 100 * found.accuracy, found.correct, found.samples, found.loss,
               found.objective, found.lambda);
  }
  return done;
}

}  // namespace

Command add_eval(CLI::App& app, Common& common) {
  auto job = std::make_shared<run::EvaluateJob>();
  CLI::App* sub = app.add_subcommand("eval", "loss, objective and accuracy of a network on a data set");
  sub->add_option("model", job->model, "ONNX file")->required();
  add_output_name_option(*sub, job->output_name);
  add_task_options(*sub, job->task);
  add_loss_option(*sub, job->task);
  add_normalize_options(*sub, job->normalize);
  add_anyway_option(*sub, job->normalize);
  sub->add_option("--split", job->split, "test, train or val")->capture_default_str();
  sub->add_option("--lambda", job->lambda,
                  "weight of the regulariser in the objective (default: the network's)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option(
      "--centre", job->centre,
      "where the regulariser is centred: zero, or the ONNX file that the network was refined from "
      "(default: as the network's file remembers)");
  add_common_options(*sub, common);
  return {sub, [job, sub, &common] {
            job->loss_given = sub->count("--loss") > 0;
            return eval(common, *job);
          }};
}

}  // namespace lwsvm::cli
