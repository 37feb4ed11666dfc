#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "base/error.h"
#include "base/version.h"
#include "cli/commands.h"
#include "engine/instruction_set.h"

namespace lwsvm::cli {

void add_common_options(CLI::App& command, Common& common) {
  command.add_option("--threads", common.threads, "threads to use (default: all cores)")
      ->check(CLI::Range(1, 4096));
  command.add_flag("-q,--quiet", common.quiet, "no chatter on standard error");
  command.add_flag("--json", common.json, "print the result as one JSON object on standard output");
  command.add_option("--data-dir", common.data_dir,
                     "folder with the data sets (default: the XDG cache folder)");
}

void add_output_name_option(CLI::App& command, std::string& name) {
  command.add_option("--output-name", name,
                     "which output of the file holds the scores, where it has several (default: the only one "
                     "of real numbers)");
}

namespace {

int run(int argc, char** argv) {
  CLI::App app("Trains and refines piecewise linear networks. ONNX in, ONNX out.", "lwsvm");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("{}, kernels for {}", version_line(), instruction_set_name()));
  app.get_formatter()->column_width(34);
  Common common;
  add_train(app, common);
  add_refine(app, common);
  add_reproduce(app, common);
  add_svm(app, common);
  add_eval(app, common);
  add_inspect(app, common);
  add_report(app, common);
  add_data(app, common);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    app.exit(error);  // prints the message
    return bad_input;
  }
  return common.exit_code;
}

}  // namespace
}  // namespace lwsvm::cli

int main(int argc, char** argv) {
  try {
    return lwsvm::cli::run(argc, argv);
  } catch (const lwsvm::Error& error) {
    // A message of several lines points at a place in its first one: keep them aligned behind the prefix.
    std::string message = error.what();
    for (std::size_t at = 0; (at = message.find('\n', at)) != std::string::npos; at += 8)
      message.insert(at + 1, 7, ' ');
    std::fprintf(stderr, "lwsvm: %s\n", message.c_str());
    return lwsvm::cli::bad_input;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "lwsvm: out of memory; try a smaller --batch\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lwsvm: internal error: %s\n", error.what());
  }
  return lwsvm::cli::internal_error;
}
