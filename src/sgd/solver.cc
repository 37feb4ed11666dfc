#include "sgd/solver.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

constexpr std::int64_t kRange = 1 << 14;

struct AdagradRule {
  static constexpr const char* kName = "adagrad";
  float lr;
  void step(std::uint64_t) {}
  LWSVM_SIMD void apply(std::int64_t n, float* __restrict w, const float* __restrict g, float* __restrict s,
                        float* __restrict) const {
    for (std::int64_t i = 0; i < n; ++i) {
      s[i] += g[i] * g[i];
      w[i] -= lr * g[i] / (std::sqrt(s[i]) + 1e-6f);
    }
  }
};

struct AdadeltaRule {
  static constexpr const char* kName = "adadelta";
  float lr;
  void step(std::uint64_t) {}
  LWSVM_SIMD void apply(std::int64_t n, float* __restrict w, const float* __restrict g, float* __restrict s,
                        float* __restrict a) const {
    constexpr float rho = 0.95f, eps = 1e-6f;
    for (std::int64_t i = 0; i < n; ++i) {
      s[i] = rho * s[i] + (1.0f - rho) * g[i] * g[i];
      const float delta = std::sqrt(a[i] + eps) / std::sqrt(s[i] + eps) * g[i];
      a[i] = rho * a[i] + (1.0f - rho) * delta * delta;
      w[i] -= lr * delta;
    }
  }
};

struct AdamRule {
  static constexpr const char* kName = "adam";
  float lr;
  float step_size = 0, root_correction = 1;
  void step(std::uint64_t t) {
    step_size = static_cast<float>(static_cast<double>(lr) / (1.0 - std::pow(0.9, static_cast<double>(t))));
    root_correction = static_cast<float>(std::sqrt(1.0 - std::pow(0.999, static_cast<double>(t))));
  }
  LWSVM_SIMD void apply(std::int64_t n, float* __restrict w, const float* __restrict g, float* __restrict m,
                        float* __restrict v) const {
    for (std::int64_t i = 0; i < n; ++i) {
      m[i] = 0.9f * m[i] + 0.1f * g[i];
      v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
      w[i] -= step_size * m[i] / (std::sqrt(v[i]) / root_correction + 1e-8f);
    }
  }
};

struct NesterovRule {
  static constexpr const char* kName = "nesterov";
  float lr;
  float keep = 0;  // PyTorch's buffer starts as the first gradient: with a buffer of zeros that is the same
  void step(std::uint64_t) { keep = 0.9f; }
  LWSVM_SIMD void apply(std::int64_t n, float* __restrict w, const float* __restrict g, float* __restrict b,
                        float* __restrict) const {
    for (std::int64_t i = 0; i < n; ++i) {
      b[i] = keep * b[i] + g[i];
      w[i] -= lr * (g[i] + 0.9f * b[i]);
    }
  }
};

template <typename Rule>
class RuleSolver final : public Solver {
 public:
  RuleSolver(double learning_rate, std::size_t parameters)
      : rule_{static_cast<float>(learning_rate)}, first_(parameters, 0.0f), second_(parameters, 0.0f) {}

  std::string name() const override { return Rule::kName; }
  void set_learning_rate(double rate) override { rule_.lr = static_cast<float>(rate); }

  void update(std::vector<float>& parameters, const std::vector<float>& gradient,
              const Threads& threads) override {
    LWSVM_CHECK(parameters.size() == first_.size() && gradient.size() == first_.size());
    rule_.step(++steps_);
    threads.for_ranges(static_cast<std::int64_t>(parameters.size()), kRange,
                       [&](std::int64_t begin, std::int64_t end) {
                         rule_.apply(end - begin, parameters.data() + begin, gradient.data() + begin,
                                     first_.data() + begin, second_.data() + begin);
                       });
  }

  void save(Checkpoint& checkpoint) const override {
    checkpoint.put("solver.steps", std::vector<std::uint64_t>{steps_});
    checkpoint.put_view("solver.first", std::span<const float>(first_));
    checkpoint.put_view("solver.second", std::span<const float>(second_));
  }

  void restore(const Checkpoint& checkpoint) override {
    steps_ = checkpoint.get<std::uint64_t>("solver.steps", 1)[0];
    std::ranges::copy(checkpoint.get<float>("solver.first", first_.size()), first_.begin());
    std::ranges::copy(checkpoint.get<float>("solver.second", second_.size()), second_.begin());
  }

 private:
  Rule rule_;
  std::uint64_t steps_ = 0;
  std::vector<float> first_, second_;  // what the rule remembers
};

}  // namespace

const std::vector<std::string>& solver_names() {
  static const std::vector<std::string> names{"adagrad", "adadelta", "adam", "nesterov"};
  return names;
}

double default_learning_rate(const std::string& solver) {
  if (solver == "adadelta") return 1.0;
  if (solver == "adam") return 0.001;
  return 0.01;
}

std::unique_ptr<Solver> make_solver(const std::string& name, double learning_rate, std::size_t parameters) {
  if (!(learning_rate > 0) || !std::isfinite(learning_rate))
    fail("solver", "the learning rate is {}; it must be positive", learning_rate);
  if (name == "adagrad") return std::make_unique<RuleSolver<AdagradRule>>(learning_rate, parameters);
  if (name == "adadelta") return std::make_unique<RuleSolver<AdadeltaRule>>(learning_rate, parameters);
  if (name == "adam") return std::make_unique<RuleSolver<AdamRule>>(learning_rate, parameters);
  if (name == "nesterov") return std::make_unique<RuleSolver<NesterovRule>>(learning_rate, parameters);
  std::vector<std::string> names = solver_names();
  names.emplace_back("dfw");
  fail_unknown("solver", "solver", name, names);
}

}  // namespace lwsvm
