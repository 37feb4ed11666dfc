// Runs the real program as a user would, and keeps what it says.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "temporary_folder.h"

namespace lwsvm::cli {

using json = nlohmann::json;
using Arguments = std::vector<std::string>;

struct Result {
  int exit_code = -1;      // -1: ended by a signal
  double peak_memory = 0;  // bytes
  std::string out, err;

  json value() const {
    return json::parse(out);
  }  // of --json; throws unless it is one value and nothing else
};

// A running lwsvm, in `folder`. What it prints goes to files, so that it never waits for a reader.
class Process {
 public:
  // `prepare` is called in the child before the program begins; another `program` may start lwsvm.
  Process(
      const std::filesystem::path& folder, const Arguments& arguments,
      const std::function<void()>& prepare = [] {}, const char* program = LWSVM_BINARY) {
    std::vector<char*> argv{const_cast<char*>("lwsvm")};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    // Made before the child is there: it may be killed in its first moment.
    const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int out = ::open((streams_ / "out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const int err = ::open((streams_ / "err").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    child_ = ::fork();
    if (child_ < 0) std::abort();
    if (child_ > 0) {
      for (int stream : {in, out, err}) ::close(stream);
      return;
    }
    if (::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0 || ::chdir(folder.c_str()) != 0)
      ::_exit(99);
    for (int signal : {SIGINT, SIGTERM, SIGHUP})
      ::signal(signal, SIG_DFL);  // a background shell ignores SIGINT, nohup SIGHUP
    prepare();
    ::execv(program, argv.data());
    ::_exit(99);
  }
  ~Process() {
    if (child_ <= 0) return;
    send(SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void send(int signal) { ::kill(child_, signal); }

  pid_t id() const { return child_; }
  std::string err_so_far() const { return read_file(streams_ / "err"); }

  // Whether it has a handler of its own for this signal by now.
  bool handles(int signal) const {
    const std::string status = read_file("/proc/" + std::to_string(child_) + "/status");
    const std::size_t caught = status.find("SigCgt:");
    if (caught == std::string::npos) return false;
    return (std::stoull(status.substr(caught + 7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }

  Result wait() {
    int status = 0;
    rusage used{};
    ::wait4(child_, &status, 0, &used);
    child_ = 0;
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, 1024.0 * static_cast<double>(used.ru_maxrss),
            read_file(streams_ / "out"), read_file(streams_ / "err")};
  }

 private:
  TemporaryFolder streams_;
  pid_t child_ = 0;
};

inline Result run(
    const std::filesystem::path& folder, const Arguments& arguments,
    const std::function<void()>& prepare = [] {}, const char* program = LWSVM_BINARY) {
  return Process(folder, arguments, prepare, program).wait();
}

// Always: at every batch, which makes a run slow enough to be stopped in its midst.
inline void checkpoint_often() {
  ::setenv("LWSVM_CHECKPOINT_SECONDS", "0.02", 1);
}
inline void checkpoint_always() {
  ::setenv("LWSVM_CHECKPOINT_SECONDS", "0", 1);
}

// {"a", "b"} + {"c"}
inline Arguments operator+(Arguments left, const Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

inline const std::string small_data = "synthetic:n=300,test=60,classes=3,size=8x8";
inline const std::string small_net = "conv4x3-relu-pool2-dense8-relu";

// A small network in folder/name, for tests of what comes after training.
inline void make_network(const std::filesystem::path& folder, const std::string& name = "base.onnx",
                         const std::string& arch = small_net, const std::string& data = small_data,
                         const std::string& seed = "0") {
  const Result result = run(folder, {"train", "--data", data, "--arch", arch, "--epochs", "2", "--batch",
                                     "50", "--seed", seed, "-q", "-o", name});
  if (result.exit_code != 0) throw std::runtime_error("train failed: " + result.err);
}

}  // namespace lwsvm::cli
