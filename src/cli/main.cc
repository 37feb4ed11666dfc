#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "lwsvm/version.h"
#include "mpi/ranks.h"

namespace lwsvm::cli {

namespace {

Team* ranks = &alone();  // also where a mistake must be told to them

// Several ranks can only refine; of what they print, that of the first is enough.
void check_command(const Common& common, const CLI::App& command) {
  if (common.team->is_alone() || command.get_name() == "refine") return;
  fail("ranks", "{} ranks cannot {} together, only refine; leave out mpirun", common.team->size(),
       command.get_name());
}

int run(int argc, char** argv) {
  CLI::App app("Trains and refines piecewise linear networks. ONNX in, ONNX out.", "lwsvm");
  app.require_subcommand(1);
  app.set_version_flag("--version",
                       fmt::format("{}, kernels for {}", version_line(), instruction_set_name()));
  app.get_formatter()->column_width(34);
  Common common;
  common.team = ranks = &join_ranks();
  if (!common.team->is_first() && !std::freopen("/dev/null", "w", stdout))
    fail("ranks", "standard output cannot be turned off");
  std::vector<Command> commands{
      add_train(app, common),     add_refine(app, common),  add_adapt(app, common),
      add_reproduce(app, common), add_svm(app, common),     add_classify(app, common),
      add_eval(app, common),      add_inspect(app, common), add_report(app, common)};
  for (Command& command : add_data(app, common)) commands.push_back(std::move(command));
  for (Command& command : add_cache(app, common)) commands.push_back(std::move(command));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    std::ostringstream text;  // and then as every other result, so that main() sees whether it arrived
    const int code = app.exit(help_or_version, text, text);
    fmt::print("{}", text.str());
    return code;
  } catch (const CLI::ParseError& error) {
    if (common.team->is_first()) app.exit(error);  // prints the message
    return bad_input;
  }
  const auto chosen =
      std::ranges::find_if(commands, [](const Command& command) { return command.app->parsed(); });
  LWSVM_CHECK(chosen != commands.end());  // a subcommand is required
  check_command(common, *chosen->app);
  if (common.threads == 0) common.threads = threads_per_rank();
  return chosen->run();
}

}  // namespace
}  // namespace lwsvm::cli

namespace {

// A descriptor 0, 1 or 2 that is closed would go to the next file that is opened, and what is meant for
// people would end up in a network. What stands there instead refuses to be read or written.
void occupy_standard_streams() {
  for (const int descriptor : {0, 1, 2})
    if (::fcntl(descriptor, F_GETFD) < 0) ::open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY);
}

int complain(int exit_code, const std::string& message) {
  std::fprintf(stderr, "lwsvm: %s\n", message.c_str());
  return exit_code;
}

// Of several ranks those that cannot go on end all, and the first of them says what is wrong with each. What
// all have come upon, such as an option that cannot be, is said once.
int complain_together(int exit_code, const std::string& message) {
  if (lwsvm::cli::ranks->is_alone()) return complain(exit_code, message);
  const lwsvm::Trouble trouble = lwsvm::share_trouble(message);
  // Whoever is to tell ends this process within moments; if not, it has come to an end itself.
  if (!trouble.ours_to_tell) std::this_thread::sleep_for(std::chrono::seconds(2));
  std::vector<std::pair<std::string, std::string>> told;  // message, names
  for (const auto& [name, their_message] : trouble.ranks) {
    const auto same = std::ranges::find(told, their_message, &std::pair<std::string, std::string>::first);
    if (same == told.end())
      told.emplace_back(their_message, name);
    else
      same->second += "; " + name;
  }
  for (const auto& [what, names] : told)
    complain(exit_code, trouble.of_all && told.size() == 1 ? what : fmt::format("{}: {}", names, what));
  lwsvm::end_all_ranks(exit_code);
}

// A message of several lines points at a place in its first one: keep them aligned after the prefix.
std::string indented(std::string message) {
  for (std::size_t at = 0; (at = message.find('\n', at)) != std::string::npos; at += 8)
    message.insert(at + 1, 7, ' ');
  return message;
}

int run_guarded(int argc, char** argv) {
  using namespace lwsvm;
  try {
    return cli::run(argc, argv);
  } catch (const Error& error) {
    return complain_together(cli::bad_input, indented(error.what()));
  } catch (const Interrupted& interruption) {
    return complain_together(interrupt_exit_code(), interruption.what());
  } catch (const std::filesystem::filesystem_error& error) {
    // Where nobody has looked more closely: names that are too long, folders that may not be entered.
    if (error.path1().empty())
      return complain_together(cli::bad_input,
                               fmt::format("[file] the working folder cannot be used: {}; change to "
                                           "one that is there",
                                           error.code().message()));
    return complain_together(cli::bad_input,
                             fmt::format("[file] {}: {}; give another name, or check the permissions",
                                         error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return complain_together(cli::internal_error, "out of memory; try a smaller --batch");
  } catch (const std::exception& error) {
    if (const auto* reason = dynamic_cast<const std::system_error*>(&error); reason && std::ferror(stdout)) {
      errno = reason->code().value();  // for main(), which says so
      return cli::done;
    }
    return complain_together(cli::internal_error, fmt::format("internal error: {}", error.what()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows beyond `ulimit -f` is an error like a full disk
  const int exit_code = run_guarded(argc, argv);
  lwsvm::leave_ranks();
  // What was printed may still lie in a buffer: a full disk shows only now.
  if (!std::ferror(stdout)) errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && !std::ferror(stdout)) return exit_code;
  complain(0, fmt::format("[output] the result could not be written to standard output{}",
                          errno != 0 ? fmt::format(": {}", std::strerror(errno)) : ""));
  return exit_code == lwsvm::cli::done ? lwsvm::cli::bad_input : exit_code;
}
