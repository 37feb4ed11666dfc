// The subcommands: each file declares its options, which fill settings of the public API, calls the library
// with them and prints what it came to.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "base/team.h"
#include "lwsvm/data.h"
#include "lwsvm/run_files.h"
#include "lwsvm/units.h"

namespace lwsvm::cli {

// What every subcommand takes.
struct Common {
  int threads = 0;  // 0: all cores
  bool quiet = false;
  bool json = false;
  std::string data_dir;
  std::string cache, cache_limit;  // empty: the defaults
  Team* team = &alone();           // with whom mpirun has started us
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
void add_task_options(CLI::App& command, DataSource& data, TaskSettings& task, Common& common);
void add_photo_options(CLI::App& command, PhotoSettings& photos, Common& common);
void add_cache_folder_option(CLI::App& command, Common& common);
void add_loss_option(CLI::App& command, std::string& loss);  // where it can be chosen
// Where there is something to train.
void add_augment_option(CLI::App& command, TaskSettings& task, const std::string& what_if_absent = "");
void add_normalize_options(CLI::App& command, PixelSettings& pixels);
void add_anyway_option(CLI::App& command, PixelSettings& pixels);     // for networks of others
void add_per_pixel_option(CLI::App& command, PixelSettings& pixels);  // for new networks
void add_time_limit_option(CLI::App& command, TimeSpan& limit, const char* help);

// --run and --resume: where a run is kept, and the one to go on with.
struct RunOptions {
  std::string resume;              // empty: a new run
  std::vector<std::string> given;  // what the command line names
};
void add_run_options(CLI::App& command, RunFiles& files, RunOptions& run, const char* resume_help);

// Of a seed: 0 to 2^64 - 1, without a sign. (CLI11 would take -1 for the largest, and so whatever is larger.)
CLI::Validator whole_number();

// The names of the options that a command line gives, "--epochs" or "network", but for those that say nothing
// about the work itself (--threads, --json, ...).
std::vector<std::string> given_options(const CLI::App& command);

// What --data-dir, --cache and --cache-limit say; throws Error.
DataSource located(DataSource data, const Common& common);
std::uint64_t cache_limit_of(const Common& common);

// What the library has to say, on the terminal; which must outlive them.
std::function<void(const std::string&)> lines_on(Terminal& terminal);
OnWork bars_on(Terminal& terminal);

}  // namespace lwsvm::cli
