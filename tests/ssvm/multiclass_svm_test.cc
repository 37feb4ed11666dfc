#include "ssvm/multiclass_svm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "judge.h"
#include "ssvm/reference_qp.h"
#include "ssvm/toys.h"

namespace lwsvm {
namespace {

// liblinear-train -s 4 -B 1 on the data; its model file read back, columns in the order of its label line.
LinearModel train_with_liblinear(const toys::Data& data, double lambda, double tolerance) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("lwsvm_liblinear_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto text = folder / "data.txt", model_file = folder / "model.txt";
  {
    std::ofstream out(text);
    for (std::int64_t i = 0; i < data.samples; ++i) {
      out << data.labels[i];
      for (std::int64_t j = 0; j < data.width; ++j)
        out << ' ' << j + 1 << ':' << fmt::format("{:.9g}", data.row(i)[j]);
      out << '\n';
    }
  }
  const auto command = fmt::format("liblinear-train -s 4 -B 1 -e {} -c {:.17g} {} {} > {} 2>&1", tolerance,
                                   1.0 / (lambda * static_cast<double>(data.samples)), text.string(),
                                   model_file.string(), (folder / "log.txt").string());
  EXPECT_EQ(std::system(command.c_str()), 0) << command;

  LinearModel model;
  model.classes = data.classes;
  model.width = data.width;
  model.weights.resize(static_cast<std::size_t>(data.classes * data.width));
  model.biases.resize(static_cast<std::size_t>(data.classes));
  std::ifstream in(model_file);
  std::vector<int> column_class;
  for (std::string line; std::getline(in, line) && line != "w";)
    if (line.starts_with("label ")) {
      std::istringstream names(line.substr(6));
      for (int name; names >> name;) column_class.push_back(name);
    }
  EXPECT_EQ(std::ssize(column_class), data.classes);
  for (std::int64_t j = 0; j <= data.width; ++j)
    for (const int y : column_class) {
      double value = 0;
      in >> value;
      (j < data.width ? model.weights[y * data.width + j] : model.biases[y]) = static_cast<float>(value);
    }
  EXPECT_TRUE(static_cast<bool>(in));
  std::filesystem::remove_all(folder);
  return model;
}

TEST(MulticlassSvm, ReachesLiblinearsObjective) {
  if (std::system("command -v liblinear-train > /dev/null 2>&1") != 0)
    LWSVM_NO_JUDGE() << "liblinear-train is not installed (Debian: liblinear-tools)";
  struct Case {
    std::int64_t samples, width;
    int classes;
    double spread, lambda;
  };
  for (const Case& c : {Case{400, 10, 3, 1.5, 1e-2}, Case{800, 20, 5, 2.0, 1e-3}, Case{600, 12, 8, 2.5, 1e-3},
                        Case{300, 5, 2, 1.0, 1.0}}) {
    const auto data = toys::clouds(c.samples, c.width, c.classes, c.spread, 21);
    const auto margin = MarginMatrix::zero_one(c.classes);
    MulticlassSvmOptions options;
    options.lambda = c.lambda;
    options.relative_gap = 5e-4;
    options.max_epochs = 20000;
    const auto ours =
        train_multiclass_svm(data.features, data.width, data.labels, margin, options, Threads(1));
    EXPECT_EQ(ours.summary.reason, StopReason::gap_closed);
    const auto objective = [&](const LinearModel& model) {
      return svm_objective(model, data.features, data.labels, margin, c.lambda);
    };
    const double theirs = objective(train_with_liblinear(data, c.lambda, 1e-3));
    EXPECT_NEAR(objective(ours.model), ours.summary.primal, 1e-5 * ours.summary.primal);
    EXPECT_LE(objective(ours.model), theirs * (1 + 1e-3));
    EXPECT_GE(theirs, ours.summary.dual * (1 - 1e-6));  // the certificate bounds LIBLINEAR too
  }
}

TEST(MulticlassSvm, MeetsTheIndependentQpSolutionWithAGeneralMargin) {
  const auto data = toys::clouds(40, 3, 4, 1.0, 5);
  const auto margin = toys::random_margin(4, 6);
  MulticlassSvmOptions options;
  options.lambda = 0.01;
  options.relative_gap = 1e-6;
  options.max_epochs = 100000;
  const auto result =
      train_multiclass_svm(data.features, data.width, data.labels, margin, options, Threads(1));
  const std::vector<double> zero(static_cast<std::size_t>(data.dimension()), 0.0);
  const auto truth = reference::solve(reference::linear_planes(data, margin), zero, 0.01, 0);
  EXPECT_EQ(result.summary.reason, StopReason::gap_closed);
  EXPECT_NEAR(result.summary.primal, truth.primal, 1e-6);
  EXPECT_NEAR(result.summary.dual, truth.primal, 1e-6);
  EXPECT_NEAR(svm_objective(result.model, data.features, data.labels, margin, 0.01), truth.primal, 1e-6);
}

TEST(MulticlassSvm, LearnsSeparableClassesAndPredictsThem) {
  const auto data = toys::clouds(300, 6, 4, 0.1, 2);
  MulticlassSvmOptions options;
  options.lambda = 1e-4;
  const auto result = train_multiclass_svm(data.features, data.width, data.labels, MarginMatrix::zero_one(4),
                                           options, Threads(1));
  EXPECT_EQ(accuracy(result.model, data.features, data.labels), 1.0);
}

TEST(MulticlassSvm, RefusesBadInput) {
  const auto data = toys::clouds(10, 2, 2, 1, 1);
  const auto margin = MarginMatrix::zero_one(2);
  const auto train = [&](const std::vector<float>& x, const std::vector<std::int32_t>& y, double lambda) {
    MulticlassSvmOptions options;
    options.lambda = lambda;
    return train_multiclass_svm(x, 2, y, margin, options, Threads(1));
  };
  auto nan = data.features;
  nan[3] = std::nanf("");
  auto labels = data.labels;
  labels[0] = 2;
  EXPECT_THROW(train(nan, data.labels, 1), Error);
  EXPECT_THROW(train(data.features, labels, 1), Error);
  EXPECT_THROW(train(data.features, data.labels, 0), Error);
  EXPECT_THROW(train({1, 2, 3}, data.labels, 1), Error);
  EXPECT_THROW(MarginMatrix::zero_one(1), Error);
  EXPECT_THROW(MarginMatrix(2, std::vector<float>{0, -1, 1, 0}), Error);
  EXPECT_THROW(MarginMatrix(2, std::vector<float>{1, 1, 1, 0}), Error);
}

TEST(MulticlassSvm, FeaturesWhoseProductsOverflowAreRefused) {
  auto data = toys::clouds(60, 4, 3, 1.0, 3);
  for (float& feature : data.features) feature *= 1e30f;
  EXPECT_THROW(train_multiclass_svm(data.features, data.width, data.labels, MarginMatrix(3), {}, Threads(1)),
               Error);
}

}  // namespace
}  // namespace lwsvm
