// lwsvm data: which data sets are here, and getting those that are not.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "lwsvm/datasets.h"
#include "report/json_text.h"
#include "report/table.h"

namespace lwsvm::cli {
namespace {

int list(const Common& common) {
  const auto sets = list_data(common.data_dir);
  if (common.json) {
    nlohmann::ordered_json result = nlohmann::ordered_json::array();
    for (const DataStatus& set : sets)
      result.push_back({{"name", set.name},
                        {"description", set.description},
                        {"present", set.present},
                        {"where", set.where.string()},
                        {"how", set.how}});
    fmt::print("{}\n", json_text(result));
    return done;
  }
  Table table({"data set", "what", "where, or how to get it"});
  for (const DataStatus& set : sets)
    table.add({set.name, set.description, set.present ? set.where.string() : set.how});
  fmt::print("{}", table.str());
  return done;
}

int get(const Common& common, const std::string& name) {
  Terminal terminal(stderr, common.quiet);
  InterruptGuard guard;
  std::string folder;
  try {
    Progress bar(terminal, name, 0);
    std::string step;
    folder = get_data(name, common.data_dir, [&](const FetchProgress& progress) {
               stop_if_interrupted("getting it");
               if (progress.step != step && !terminal.live()) terminal.line("{}: {}", name, progress.step);
               step = progress.step;
               bar.update(progress.done, progress.step);
             }).string();
  } catch (const Interrupted&) {
    terminal.line("{}: stopped, nothing was left behind", name);
    return interrupt_exit_code();
  }
  if (common.json)
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"name", name}, {"folder", folder}}));
  else
    fmt::print("{}: {}\n", name, folder);
  return done;
}

}  // namespace

std::vector<Command> add_data(CLI::App& app, Common& common) {
  CLI::App* sub = app.add_subcommand("data", "list data sets, or get one");
  sub->require_subcommand(1);
  CLI::App* list_sub = sub->add_subcommand("list", "what is there, and how to get what is not");
  add_common_options(*list_sub, common);

  auto name = std::make_shared<std::string>();
  CLI::App* get_sub = sub->add_subcommand("get", "put a data set into the cache folder, checksums verified");
  get_sub->add_option("name", *name, "fashion-mnist, mnist, cifar10 or cifar100")->required();
  add_common_options(*get_sub, common);
  return {{list_sub, [&common] { return list(common); }},
          {get_sub, [name, &common] { return get(common, *name); }}};
}

}  // namespace lwsvm::cli
