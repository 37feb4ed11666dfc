// Each solver's first 50 updates on a small problem, against its definition computed independently in double,
// and, where python3-torch is installed, against PyTorch itself.
#include "sgd/solver.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/random.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

constexpr int parameters = 37;
constexpr int updates = 50;

// f(w) = 1/2 sum_i a_i (w_i - b_i)^2 with a_i from 0.1 to 3: its gradient drives every solver below.
double curvature(int i) {
  return 0.1 + 2.9 * i / (parameters - 1);
}
double centre(int i) {
  return std::sin(1.0 + i);
}
double start(int i) {
  return std::cos(3.0 * i);
}

std::vector<float> run_solver(const std::string& name, double lr, int steps, Solver* given = nullptr,
                              std::vector<float> w = {}) {
  std::unique_ptr<Solver> own;
  if (!given) {
    own = make_solver(name, lr, parameters);
    given = own.get();
  }
  const Threads threads(1);
  if (w.empty())
    for (int i = 0; i < parameters; ++i) w.push_back(static_cast<float>(start(i)));
  std::vector<float> g(parameters);
  for (int t = 0; t < steps; ++t) {
    for (int i = 0; i < parameters; ++i)
      g[static_cast<std::size_t>(i)] = static_cast<float>(
          curvature(i) * (static_cast<double>(w[static_cast<std::size_t>(i)]) - centre(i)));
    given->update(w, g, threads);
  }
  return w;
}

std::vector<double> by_definition(const std::string& name, double lr) {
  std::vector<double> result;
  for (int i = 0; i < parameters; ++i) {
    double w = start(i), s = 0, a = 0, m = 0, v = 0, b = 0;
    for (int t = 1; t <= updates; ++t) {
      const double g = curvature(i) * (w - centre(i));
      if (name == "adagrad") {
        s += g * g;
        w -= lr * g / (std::sqrt(s) + 1e-6);
      } else if (name == "adadelta") {
        s = 0.95 * s + 0.05 * g * g;
        const double d = std::sqrt(a + 1e-6) / std::sqrt(s + 1e-6) * g;
        a = 0.95 * a + 0.05 * d * d;
        w -= lr * d;
      } else if (name == "adam") {
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        const double m_hat = m / (1 - std::pow(0.9, t)), v_hat = v / (1 - std::pow(0.999, t));
        w -= lr * m_hat / (std::sqrt(v_hat) + 1e-8);
      } else {
        b = t == 1 ? g : 0.9 * b + g;
        w -= lr * (g + 0.9 * b);
      }
    }
    result.push_back(w);
  }
  return result;
}

class EverySolver : public testing::TestWithParam<const char*> {
 protected:
  std::string name() const { return GetParam(); }
  double lr() const { return default_learning_rate(name()); }
};

TEST_P(EverySolver, FollowsItsDefinitionForFiftyUpdates) {
  const auto ours = run_solver(name(), lr(), updates);
  const auto expected = by_definition(name(), lr());
  for (std::size_t i = 0; i < ours.size(); ++i) EXPECT_NEAR(ours[i], expected[i], 2e-5) << name() << " " << i;
}

TEST_P(EverySolver, ContinuesFromACheckpointToTheSameBits) {
  const auto straight = run_solver(name(), lr(), updates);
  const auto first = make_solver(name(), lr(), parameters);
  const auto half = run_solver(name(), lr(), 20, first.get());
  TemporaryFolder folder;
  Checkpoint checkpoint;
  first->save(checkpoint);
  checkpoint.save(folder.path() / "c");
  const auto second = make_solver(name(), lr(), parameters);
  second->restore(Checkpoint::load(folder.path() / "c"));
  EXPECT_EQ(run_solver(name(), lr(), updates - 20, second.get(), half), straight);
}

TEST_P(EverySolver, DoesNotDependOnTheThreads) {
  const std::size_t many = 100000;
  Random random(3);
  std::vector<float> gradient(many);
  for (float& g : gradient) g = static_cast<float>(random.normal());
  std::vector<std::vector<float>> results;
  for (int count : {1, 2, 3}) {
    const Threads threads(count);
    const auto solver = make_solver(name(), lr(), many);
    std::vector<float> w(many, 1.0f);
    for (int t = 0; t < 3; ++t) solver->update(w, gradient, threads);
    results.push_back(w);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST_P(EverySolver, AgreesWithPyTorch) {
  if (std::system("/usr/bin/python3 -c 'import torch' >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "python3-torch is not installed (scripts/install-deps.sh bench)";
  TemporaryFolder folder;
  const auto script = folder.path() / "run.py", output = folder.path() / "out.txt";
  std::ofstream(script) << R"(
import sys, math, torch
name, lr, n, steps, out = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
a = torch.tensor([0.1 + 2.9 * i / (n - 1) for i in range(n)]); b = torch.tensor([math.sin(1.0 + i) for i in range(n)])
w = torch.tensor([math.cos(3.0 * i) for i in range(n)], requires_grad=True)
make = dict(adagrad=lambda: torch.optim.Adagrad([w], lr=lr, eps=1e-6),
            adadelta=lambda: torch.optim.Adadelta([w], lr=lr, rho=0.95, eps=1e-6),
            adam=lambda: torch.optim.Adam([w], lr=lr),
            nesterov=lambda: torch.optim.SGD([w], lr=lr, momentum=0.9, nesterov=True))
optimiser = make[name]()
for _ in range(steps):
    optimiser.zero_grad()
    (0.5 * a * (w - b) ** 2).sum().backward()
    optimiser.step()
open(out, 'w').write('\n'.join(repr(float(x)) for x in w))
)";
  const std::string command = fmt::format("/usr/bin/python3 '{}' {} {} {} {} '{}'", script.string(), name(),
                                          lr(), parameters, updates, output.string());
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream stream(output);
  const auto ours = run_solver(name(), lr(), updates);
  for (float value : ours) {
    double torch = NAN;
    ASSERT_TRUE(stream >> torch);
    EXPECT_NEAR(value, torch, 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Solver, EverySolver, testing::Values("adagrad", "adadelta", "adam", "nesterov"),
                         [](const auto& given) { return std::string(given.param); });

TEST(Solver, NamesTheNearestKnownOne) {
  try {
    make_solver("adma", 0.1, 1);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("adam"), std::string::npos) << error.what();
  }
  EXPECT_THROW(make_solver("adam", 0.0, 1), Error);
  EXPECT_THROW(make_solver("adam", NAN, 1), Error);
}

}  // namespace
}  // namespace lwsvm
