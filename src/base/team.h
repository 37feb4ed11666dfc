// Ranks that work on one problem together: processes under mpirun (src/mpi), threads in tests and benches
// (thread_team.h), or, usually, one rank that is alone.
//
// All ranks do the same things in the same order; each knows a part of the samples, all know the same
// weights. What they tell each other goes through two operations, and every sum is made here, in rank order:
// the same number of ranks gives the same bits, whatever the network between them is like.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lwsvm {

// What a rank did with its time and its network.
struct TeamTimes {
  double seconds = 0;   // since the team was made
  double exchange = 0;  // in exchanges of vectors and rows
  double waiting = 0;   // in the small ones, which are mostly waiting for the slowest rank
  std::uint64_t bytes = 0;
  std::uint64_t exchanges = 0;  // that were not small
};

class Team {
 public:
  virtual ~Team() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;                      // "host, rank 3": for messages
  virtual bool is_first_here() const { return is_first(); }  // of the ranks of this machine
  virtual TeamTimes times() const { return {}; }

  // Everybody's `mine`, of one size, side by side in rank order.
  virtual void gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // `mine` and `got` are size() pieces of one size: piece k of `mine` goes to rank k, whose piece for us
  // becomes piece k of `got`.
  virtual void transpose(std::span<const float> mine, std::span<float> got) = 0;

  bool is_alone() const { return size() == 1; }
  bool is_first() const { return rank() == 0; }  // the one that talks, and writes
};

// The one rank of a run that has no others.
Team& alone();

// Everybody's values, rank after rank.
std::vector<double> gather(Team& team, std::span<const double> mine);
// Of one value per rank, or of each of several values, in rank order.
double sum(Team& team, double mine);
std::int64_t sum(Team& team, std::int64_t mine);
void add_up(Team& team, std::span<double> values);
std::int64_t largest(Team& team, std::int64_t mine);
bool any(Team& team, bool mine);
double of_first(Team& team, double mine);
// Nobody goes on before all are here.
void wait_for_all(Team& team);

// Vectors that all ranks combine: each rank gets one slice of all vectors, works on it, and hands the result
// round. So a rank sends 2 (K-1)/K of the vector, as in any good allreduce; and whoever holds a slice of all
// vectors also has their inner products for nothing.
class VectorExchange {
 public:
  explicit VectorExchange(Team& team) : team_(team) {}

  // Everybody's vector is cut up and handed out; they are of one length.
  void scatter(std::span<const float> mine);
  // <v_k, v_l> of the scattered vectors, size() x size().
  std::vector<double> gram();
  // sum_k factors[k] v_k, to everybody.
  void combine(std::span<const double> factors, std::span<float> result);

 private:
  const float* slice(int rank) const { return slices_.data() + static_cast<std::size_t>(rank) * piece_; }

  Team& team_;
  std::size_t length_ = 0, piece_ = 0;
  std::vector<float> padded_, slices_, sum_;
};

// Rank r's part of `count` things: from part_begin(count, r, ranks) to part_begin(count, r + 1, ranks). Where
// they differ the first ranks have one more.
constexpr std::int64_t part_begin(std::int64_t count, std::int64_t rank, std::int64_t ranks) {
  return count / ranks * rank + std::min(count % ranks, rank);
}
constexpr std::int64_t part_size(std::int64_t count, std::int64_t rank, std::int64_t ranks) {
  return part_begin(count, rank + 1, ranks) - part_begin(count, rank, ranks);
}

}  // namespace lwsvm
