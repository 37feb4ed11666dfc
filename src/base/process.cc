#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace lwsvm {
namespace {

constexpr std::size_t kKeptOutput = 4096;

// Ends and reaps the child if we leave before it has.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  ~Child() {
    if (id_ <= 0) return;
    ::kill(id_, SIGTERM);
    for (int i = 0; i < 20 && !ended(); ++i) ::usleep(100'000);
    if (id_ > 0) {
      ::kill(id_, SIGKILL);
      ::waitpid(id_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool ended() {
    if (id_ > 0 && ::waitpid(id_, &status_, WNOHANG) != 0) id_ = 0;
    return id_ == 0;
  }
  int status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

 private:
  pid_t id_;
  int status_ = 0;
};

struct Descriptor {
  int id = -1;
  ~Descriptor() {
    if (id >= 0) ::close(id);
  }
};

struct SpawnActions {
  posix_spawn_file_actions_t actions;
  SpawnActions() { posix_spawn_file_actions_init(&actions); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions); }
};

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const std::filesystem::path& folder,
                          const std::function<void()>& waiting) {
  LWSVM_CHECK(!command.empty());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    fail("process", "cannot start {}: {}", command[0], std::strerror(errno));
  const Descriptor output{ends[0]};
  ::fcntl(output.id, F_SETFL, O_NONBLOCK);

  pid_t id = 0;
  int error = 0;
  {
    const Descriptor input{ends[1]};
    SpawnActions spawn;
    posix_spawn_file_actions_addopen(&spawn.actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&spawn.actions, input.id, 1);
    posix_spawn_file_actions_adddup2(&spawn.actions, input.id, 2);
    posix_spawn_file_actions_addchdir_np(&spawn.actions, folder.c_str());
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    error = ::posix_spawnp(&id, command[0].c_str(), &spawn.actions, nullptr, arguments.data(), environ);
  }
  ProcessResult result;
  if (error == ENOENT) {
    result.found = false;
    return result;
  }
  if (error != 0) fail("process", "cannot start {}: {}", command[0], std::strerror(error));

  Child child(id);
  std::array<char, 4096> buffer;
  while (true) {
    const bool last = child.ended();  // asked before reading, so that nothing printed at the end is missed
    ssize_t got = 0;
    while ((got = ::read(output.id, buffer.data(), buffer.size())) > 0) {
      result.output.append(buffer.data(), static_cast<std::size_t>(got));
      if (result.output.size() > kKeptOutput) result.output.erase(0, result.output.size() - kKeptOutput);
    }
    if (last) break;
    if (got == 0) {
      ::usleep(20'000);  // output has ended, so poll would return at once; the child is about to end, too
    } else {
      pollfd ready{output.id, POLLIN, 0};
      ::poll(&ready, 1, 200);
    }
    if (waiting) waiting();
  }
  result.status = child.status();
  return result;
}

}  // namespace lwsvm
