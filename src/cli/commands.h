// The subcommands: each file declares its options, fills an options struct and calls the library.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "base/progress.h"
#include "engine/threads.h"

namespace lwsvm::cli {

// What every subcommand takes.
struct Common {
  int threads = 0;  // 0: all cores
  bool quiet = false;
  bool json = false;
  std::string data_dir;

  int exit_code = 0;  // what the chosen subcommand ended with
};

enum ExitCode { done = 0, internal_error = 1, bad_input = 2 };

void add_common_options(CLI::App& command, Common& common);
// --output-name, for networks of several outputs.
void add_output_name_option(CLI::App& command, std::string& name);

// As many as were asked for; a word where the system has granted fewer.
Threads start_threads(const Common& common, Terminal& terminal);

// Of a seed: 0 to 2^64 - 1, without a sign. (CLI11 would take -1 for the largest, and so whatever is larger.)
CLI::Validator whole_number();

void add_train(CLI::App& app, Common& common);
void add_refine(CLI::App& app, Common& common);
void add_reproduce(CLI::App& app, Common& common);
void add_svm(CLI::App& app, Common& common);
void add_eval(CLI::App& app, Common& common);
void add_inspect(CLI::App& app, Common& common);
void add_report(CLI::App& app, Common& common);
void add_data(CLI::App& app, Common& common);

}  // namespace lwsvm::cli
