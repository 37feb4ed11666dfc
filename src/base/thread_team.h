// Ranks that are threads of one process: the mathematics of many ranks without MPI, for tests and benches.
#pragma once

#include <algorithm>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "base/team.h"

namespace lwsvm {

// What the threads share.
struct ThreadTeamHall {
  explicit ThreadTeamHall(int ranks)
      : everybody(ranks), bytes(static_cast<std::size_t>(ranks)), floats(static_cast<std::size_t>(ranks)) {}

  std::barrier<> everybody;
  std::vector<std::span<const std::byte>> bytes;  // what each rank holds out
  std::vector<std::span<const float>> floats;
};

class ThreadTeam final : public Team {
 public:
  ThreadTeam(ThreadTeamHall& hall, int rank) : hall_(hall), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hall_.bytes.size()); }
  std::string name() const override { return "thread " + std::to_string(rank_); }
  TeamTimes times() const override { return times_; }

  void gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    hall_.bytes[static_cast<std::size_t>(rank_)] = mine;
    hall_.everybody.arrive_and_wait();
    auto at = all.begin();
    for (const auto& theirs : hall_.bytes) at = std::ranges::copy(theirs, at).out;
    hall_.everybody.arrive_and_wait();
    times_.bytes += mine.size() * static_cast<std::size_t>(size() - 1);
  }

  void transpose(std::span<const float> mine, std::span<float> got) override {
    hall_.floats[static_cast<std::size_t>(rank_)] = mine;
    hall_.everybody.arrive_and_wait();
    const std::size_t piece = mine.size() / hall_.floats.size();
    for (std::size_t k = 0; k < hall_.floats.size(); ++k)
      std::ranges::copy(hall_.floats[k].subspan(static_cast<std::size_t>(rank_) * piece, piece),
                        got.begin() + static_cast<std::ptrdiff_t>(k * piece));
    hall_.everybody.arrive_and_wait();
    times_.bytes += 4 * piece * static_cast<std::size_t>(size() - 1);
    ++times_.exchanges;
  }

 private:
  ThreadTeamHall& hall_;
  int rank_;
  TeamTimes times_;
};

// work(team) on every rank; an exception of one rank would leave the others waiting, so it ends the program.
template <typename Work>
void with_ranks(int ranks, const Work& work) {
  ThreadTeamHall hall(ranks);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&hall, &work, rank]() noexcept {
      ThreadTeam team(hall, rank);
      work(team);
    });
}

}  // namespace lwsvm
