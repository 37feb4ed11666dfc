// The subcommands: each file declares its options, calls the library with them and prints what it came to.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "run/run_context.h"
#include "run/task.h"

namespace lwsvm::cli {

// What every subcommand takes.
struct Common {
  int threads = 0;  // 0: all cores
  bool quiet = false;
  bool json = false;
  std::string data_dir;
  std::string cache, cache_limit;  // empty: the defaults
};

enum ExitCode { done = 0, internal_error = 1, bad_input = 2 };

// A subcommand that is run if it was asked for, once everything is parsed. `run` returns the exit code.
struct Command {
  CLI::App* app;
  std::function<int()> run;
};

Command add_train(CLI::App& app, Common& common);
Command add_refine(CLI::App& app, Common& common);
Command add_adapt(CLI::App& app, Common& common);
Command add_reproduce(CLI::App& app, Common& common);
Command add_svm(CLI::App& app, Common& common);
Command add_classify(CLI::App& app, Common& common);
Command add_eval(CLI::App& app, Common& common);
Command add_inspect(CLI::App& app, Common& common);
Command add_report(CLI::App& app, Common& common);
std::vector<Command> add_data(CLI::App& app, Common& common);   // list and get
std::vector<Command> add_cache(CLI::App& app, Common& common);  // list and clear

// Options that several of them have.
void add_common_options(CLI::App& command, Common& common);
void add_output_name_option(CLI::App& command, std::string& name);  // for networks of several outputs
void add_task_options(CLI::App& command, run::TaskOptions& task, Common& common);
void add_photo_options(CLI::App& command, run::PhotoOptions& photos, Common& common);
void add_cache_folder_option(CLI::App& command, Common& common);
void add_loss_option(CLI::App& command, std::string& loss);          // where it can be chosen
void add_augment_option(CLI::App& command, run::TaskOptions& task);  // where there is something to train
void add_normalize_options(CLI::App& command, PixelSettings& pixels);
void add_anyway_option(CLI::App& command, PixelSettings& pixels);     // for networks of others
void add_per_pixel_option(CLI::App& command, PixelSettings& pixels);  // for new networks

// Of a seed: 0 to 2^64 - 1, without a sign. (CLI11 would take -1 for the largest, and so whatever is larger.)
CLI::Validator whole_number();

// The names of the options that a command line gives, "--epochs" or "network", but for those that say nothing
// about the work itself (--threads, --json, ...).
std::vector<std::string> given_options(const CLI::App& command);

// `observer` may be null.
run::RunContext run_context(const Common& common, Terminal& terminal, run::RunObserver* observer = nullptr);

}  // namespace lwsvm::cli
