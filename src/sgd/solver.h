// The classic gradient solvers, as PyTorch defines them, with the constants of the paper's experiments.
//
// With g the gradient of the whole objective (regulariser included) and w the parameters:
//   adagrad  [DHS11]      s += g^2;                 w -= lr g / (sqrt(s) + 1e-6)
//   adadelta [Zeiler12]   s = 0.95 s + 0.05 g^2;    d = sqrt(a + 1e-6) / sqrt(s + 1e-6) g;
//                         a = 0.95 a + 0.05 d^2;    w -= lr d
//   adam     [KB15]       m = 0.9 m + 0.1 g;        v = 0.999 v + 0.001 g^2;
//                         w -= lr / (1 - 0.9^t) m / (sqrt(v / (1 - 0.999^t)) + 1e-8)
//   nesterov [Sutskever13] b = 0.9 b + g (b = g at first);  w -= lr (g + 0.9 b)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/checkpoint.h"
#include "engine/threads.h"

namespace lwsvm {

class Solver {
 public:
  virtual ~Solver() = default;

  virtual std::string name() const = 0;
  virtual void set_learning_rate(double rate) = 0;  // from the next update on
  virtual void update(std::vector<float>& parameters, const std::vector<float>& gradient,
                      const Threads& threads) = 0;

  virtual void save(Checkpoint& checkpoint) const = 0;
  virtual void restore(const Checkpoint& checkpoint) = 0;
};

const std::vector<std::string>& solver_names();
double default_learning_rate(const std::string& solver);
// Throws Error for an unknown name (with the nearest known) or a learning rate that is not positive.
std::unique_ptr<Solver> make_solver(const std::string& name, double learning_rate, std::size_t parameters);

}  // namespace lwsvm
