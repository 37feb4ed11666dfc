#include "lwsvm/moves.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace lwsvm {
namespace {

constexpr double kGrowthPerMove = 1.1;
constexpr double kUntriedShare = 0.1;
constexpr double kMinShare = 0.02;  // of the best rate: what a move that gained nothing is expected to gain

}  // namespace

double MoveChooser::expected(std::size_t move) const {
  const Record& record = known_[move];
  if (!record.tried) return kUntriedShare * first_sweep_rate_;
  if (move != kSweep && record.age == 0) return -1;  // just solved: there is nothing left in it
  return record.rate * std::pow(kGrowthPerMove, record.age);
}

// The first that has not been opened since the last sweep.
std::optional<std::size_t> MoveChooser::waiting_layer() const {
  for (std::size_t move = 1; move < known_.size(); ++move)
    if (!known_[move].tried || known_[move].age > known_[kSweep].age) return move;
  return std::nullopt;
}

std::size_t MoveChooser::next(bool layers_first) const {
  if (!known_[kSweep].tried) return kSweep;
  if (known_.size() > 1 && !known_[1].tried) return 1;
  if (layers_first)
    if (const std::optional<std::size_t> layer = waiting_layer()) return *layer;
  std::size_t best = kSweep;
  for (std::size_t move = 0; move < known_.size(); ++move)
    if (expected(move) > expected(best)) best = move;
  return best;
}

void MoveChooser::count(std::size_t move, double gain, double work) {
  double best = 0;
  for (Record& record : known_) {
    record.age += 1;
    best = std::max(best, record.rate);
  }
  Record& record = known_.at(move);
  const double rate = std::max(0.0, gain) / std::max(work, 1.0);
  if (move == kSweep && !record.tried) first_sweep_rate_ = rate;
  // A sweep that was turned down says little about the next one, whose eta is smaller.
  const bool turned_down = move == kSweep && record.tried && !(gain > 0);
  record = {true, turned_down ? record.rate / 2 : std::max(rate, kMinShare * best), 0};
}

std::vector<double> MoveChooser::save() const {
  std::vector<double> values{first_sweep_rate_};
  for (const Record& record : known_)
    values.insert(values.end(), {record.tried ? 1.0 : 0.0, record.rate, record.age});
  return values;
}

void MoveChooser::restore(std::span<const double> values) {
  LWSVM_CHECK(values.size() == 1 + 3 * known_.size());
  first_sweep_rate_ = values[0];
  for (std::size_t i = 0; i < known_.size(); ++i)
    known_[i] = {values[1 + 3 * i] != 0, values[2 + 3 * i], values[3 + 3 * i]};
}

}  // namespace lwsvm
