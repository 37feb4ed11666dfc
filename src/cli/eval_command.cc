// lwsvm eval: loss, objective and accuracy of a network on a data set.
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "cli/commands.h"
#include "lwsvm/evaluate.h"
#include "report/json_text.h"
#include "report/table.h"

namespace lwsvm::cli {
namespace {

struct EvalOptions {
  std::string model;
  std::string output_name;
  DataSource data;
  EvaluateSettings settings;
  std::string loss = "svm";
  bool per_class = false;
};

std::string class_table(const EvaluateSummary& found) {
  Table table({"class", "accuracy", "correct", "samples"});
  for (const ClassAccuracy& c : found.classes)
    table.add({c.name,
               c.samples > 0 ? fmt::format("{:.2f}%", 100.0 * static_cast<double>(c.correct) /
                                                          static_cast<double>(c.samples))
                             : "",
               std::to_string(c.correct), std::to_string(c.samples)});
  return table.str();
}

int eval(const Common& common, const EvalOptions& options) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  const DataSource source = located(options.data, common);
  const Network network =
      Network::load(options.model, options.output_name, source.photos.crop_height, source.photos.crop_width);
  LoadSettings load{source.data_dir, source.photos, common.threads};
  load.on_message = lines_on(terminal);
  load.on_progress = bars_on(terminal);
  const Data data = Data::load(source.name, network, load);
  EvaluateSettings settings = options.settings;
  if (!source.margins.empty()) settings.task.margins = load_margins(source.margins, data.classes());
  settings.threads = common.threads;
  settings.photos = source.name;
  settings.on_message = lines_on(terminal);
  const EvaluateSummary found = evaluate(network, data, settings);
  if (common.json) {
    nlohmann::ordered_json result{
        {"objective", found.objective}, {"accuracy", found.accuracy},       {"loss", found.loss},
        {"lambda", found.lambda},       {"regulariser", found.regulariser}, {"samples", found.samples},
        {"correct", found.correct},     {"split", settings.part},           {"data", data.name()},
        {"model", options.model}};
    if (found.top5) result["top5"] = *found.top5;
    nlohmann::ordered_json classes = nlohmann::ordered_json::array();
    for (const ClassAccuracy& c : found.classes)
      classes.push_back({{"name", c.name}, {"samples", c.samples}, {"correct", c.correct}});
    result["classes"] = std::move(classes);
    fmt::print("{}\n", json_text(result));
  } else {
    fmt::print("{} on {} {}: accuracy {:.2f}% ({} of {}){}, loss {:.5f}, objective {:.5f} (lambda {})\n",
               options.model, data.name(), settings.part, 100 * found.accuracy, found.correct, found.samples,
               found.top5 ? fmt::format(", top-5 {:.2f}%", 100 * *found.top5) : "", found.loss,
               found.objective, found.lambda);
    if (options.per_class) fmt::print("{}", class_table(found));
  }
  return done;
}

}  // namespace

Command add_eval(CLI::App& app, Common& common) {
  auto options = std::make_shared<EvalOptions>();
  EvaluateSettings& settings = options->settings;
  CLI::App* sub = app.add_subcommand("eval", "loss, objective and accuracy of a network on a data set");
  sub->add_option("model", options->model, "ONNX file")->required();
  add_output_name_option(*sub, options->output_name);
  add_task_options(*sub, options->data, settings.task, common);
  add_loss_option(*sub, options->loss);
  add_normalize_options(*sub, settings.pixels);
  add_anyway_option(*sub, settings.pixels);
  sub->add_option("--split", settings.part, "test, train or val")->capture_default_str();
  sub->add_option("--lambda", settings.lambda,
                  "weight of the regulariser in the objective (default: the network's)")
      ->check(CLI::NonNegativeNumber);
  sub->add_option(
      "--centre", settings.centre,
      "where the regulariser is centred: zero, or the ONNX file that the network was refined from "
      "(default: as the network's file remembers)");
  sub->add_flag(
      "--dense", settings.dense,
      "run the network on whole images (of photos: the short side resized, nothing cut off), dense layers as "
      "convolutions, and average the scores over places and the mirror image");
  sub->add_flag("--per-class", options->per_class,
                "a table of the classes' accuracies, too; --json has it always");
  add_common_options(*sub, common);
  return {sub, [options, sub, &common] {
            if (sub->count("--loss") > 0) options->settings.loss = options->loss;
            return eval(common, *options);
          }};
}

}  // namespace lwsvm::cli
