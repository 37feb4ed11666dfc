// Which move next: a sweep, or the update of one layer (the SVM layer is one of them)?
//
// The one that is expected to gain most per unit of work. A move's last rate is what it is expected to gain,
// a little more with every other move since then, so that each is tried now and then; a layer that has not
// been opened yet is expected to gain a tenth of what the first sweep did. The first sweep comes first, then
// the SVM layer, which is cheap and exact. After the longest sweep (sweep.h) every layer has its turn.
//
// Work is counted in floating-point operations, not in seconds: the same run makes the same choices every
// time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lwsvm {

enum class Moves { automatic, layers, sweeps };

class MoveChooser {
 public:
  static constexpr std::size_t kSweep = 0;  // layer l of the schedule is move l + 1

  explicit MoveChooser(std::size_t layers) : known_(layers + 1) {}

  // layers_first: every layer has its turn before anything else.
  std::size_t next(bool layers_first = false) const;
  void count(std::size_t move, double gain, double work);

  std::vector<double> save() const;
  void restore(std::span<const double> values);  // of the same size as save() gives

 private:
  struct Record {
    bool tried = false;
    double rate = 0;  // gain per unit of work, the last time
    double age = 0;   // moves since then
  };
  double expected(std::size_t move) const;
  std::optional<std::size_t> waiting_layer() const;

  std::vector<Record> known_;
  double first_sweep_rate_ = 0;
};

}  // namespace lwsvm
