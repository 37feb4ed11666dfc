// Open MPI's part of the work: start and end, and two collective operations. Both move bytes as they are, and
// no sum is left to MPI, whose order of adding depends on the network.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <map>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "mpi/ranks.h"

namespace lwsvm {
namespace {

constexpr std::size_t kSmall =
    4096;  // bytes: what takes longer than that is the network, or else it is the others

int bytes_for_mpi(std::size_t bytes) {
  if (bytes > INT_MAX)
    fail("mpi", "a rank's share of a layer is {} bytes, more than MPI can send at once: use more ranks",
         bytes);
  return static_cast<int>(bytes);
}

// Waits without taking the core away from whoever is waited for, as MPI's own waiting does: after the time
// that the bytes should take it only looks again now and then.
void finish(MPI_Request request, std::size_t bytes) {
  const double expected = 2e-4 + 1e-9 * static_cast<double>(bytes);  // seconds
  const Stopwatch watch;
  for (int done = 0; true;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done) return;
    if (watch.seconds() < expected)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

class MpiTeam final : public Team {
 public:
  MpiTeam() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &local_size_);
    MPI_Comm_rank(here, &local_rank_);
    MPI_Comm_free(&here);
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    name_ = fmt::format("{}, rank {}", std::string(host, static_cast<std::size_t>(length)), rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const { return local_size_; }
  bool is_first_here() const override { return local_rank_ == 0; }
  std::string name() const override { return name_; }

  TeamTimes times() const override {
    TeamTimes times = times_;
    times.seconds = watch_.seconds();
    return times;
  }

  void gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    LWSVM_CHECK(all.size() == mine.size() * static_cast<std::size_t>(size_));
    const Stopwatch watch;
    const int bytes = bytes_for_mpi(mine.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    finish(request, all.size());
    const bool small = mine.size() <= kSmall;
    (small ? times_.waiting : times_.exchange) += watch.seconds();
    times_.exchanges += !small;
    times_.bytes += mine.size() * static_cast<std::size_t>(size_ - 1);
  }

  void transpose(std::span<const float> mine, std::span<float> got) override {
    LWSVM_CHECK(got.size() == mine.size() && mine.size() % static_cast<std::size_t>(size_) == 0);
    const Stopwatch watch;
    const std::size_t piece = mine.size_bytes() / static_cast<std::size_t>(size_);
    const int bytes = bytes_for_mpi(piece);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoall(mine.data(), bytes, MPI_BYTE, got.data(), bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    finish(request, got.size_bytes());
    times_.exchange += watch.seconds();
    times_.bytes += piece * static_cast<std::size_t>(size_ - 1);
    ++times_.exchanges;
  }

 private:
  int rank_ = 0, size_ = 1, local_size_ = 1, local_rank_ = 0;
  std::string name_;
  Stopwatch watch_;
  TeamTimes times_;
};

std::unique_ptr<MpiTeam> team;

// From rank to rank, as the others may be anywhere: in an operation of all, or in trouble, too. Nobody takes
// it but who is in trouble, so it must be short enough to be on its way without that.
struct Call {
  std::array<char, 96> name{};
  std::array<char, 1500> message{};
};

template <std::size_t N>
void write_text(const std::string& text, std::array<char, N>& target) {
  std::copy_n(text.begin(), std::min(text.size(), N - 1), target.begin());
}

// Before MPI is begun, which would cost a lone process its time.
bool others_were_started() {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  return size && std::atoi(size) > 1;
}

}  // namespace

Team& join_ranks() {
  if (!team && others_were_started()) team = std::make_unique<MpiTeam>();
  return team ? static_cast<Team&>(*team) : alone();
}

// mpirun may have bound the rank to some cores: those are its own. Otherwise the ranks of a machine share it.
int threads_per_rank() {
  if (!team) return 0;
  cpu_set_t set;
  CPU_ZERO(&set);
  const int all = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int own = ::sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : all;
  const long online = ::sysconf(_SC_NPROCESSORS_ONLN);
  return own < online ? own : std::max(1, own / team->local_size());
}

void leave_ranks() {
  if (!team) return;
  MPI_Finalize();
  team.reset();
}

Trouble share_trouble(const std::string& message) {
  if (!team) return {{{"", message}}, true, true};
  constexpr double kPatience = 2;  // seconds
  static Call own;                 // until the process ends
  write_text(team->name(), own.name);
  write_text(message, own.message);
  for (int rank = 0; rank < team->size(); ++rank) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank != team->rank())
      MPI_Isend(&own, sizeof own, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &request);  // nobody waits for its end
  }
  std::map<int, Call> calls{{team->rank(), own}};
  const Stopwatch watch;
  while (std::ssize(calls) < team->size() && watch.seconds() < kPatience) {
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, &status);
    if (found)
      MPI_Recv(&calls[status.MPI_SOURCE], sizeof(Call), MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    else
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Trouble trouble;
  for (const auto& [rank, call] : calls) trouble.ranks.push_back({call.name.data(), call.message.data()});
  trouble.of_all = std::ssize(calls) == team->size();
  trouble.ours_to_tell = calls.begin()->first == team->rank();
  return trouble;
}

void end_all_ranks(int exit_code) {
  if (team) MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::exit(exit_code);
}

}  // namespace lwsvm
