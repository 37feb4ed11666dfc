#include "run/evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "base/error.h"
#include "base/interruptible_source.h"
#include "net/evaluator.h"
#include "run/centre.h"
#include "run/dense_evaluation.h"
#include "run/model_input.h"

namespace lwsvm::run {
namespace {

// The objective is that of the network's training, unless another loss is asked for.
TaskOptions task_of(const EvaluateJob& job, const RunContext& context, const ModelInfo& info) {
  TaskOptions task = job.task;
  if (const auto known = info.metadata.find("lwsvm.loss"); known != info.metadata.end() && !job.loss_given)
    task.loss = known->second;
  if (!context.data_dir.empty()) task.data_dir = context.data_dir;
  return task;
}

// A network that fits the samples it is to be judged on.
struct Subject {
  Model model;
  Task task;
  const SampleView& samples;
  Threads threads;

  Subject(const EvaluateJob& job, const RunContext& context, RunInput input)
      : model(given(input)),
        task(task_of(job, context, model.info), &model.info,
             input.data ? std::move(input.data)
                        : load_for(&model, task_of(job, context, model.info), context)),
        samples(task.part(job.split)),
        threads(start_threads(context.threads, *context.messages)) {
    fit_input(model, job.pixels, task.data, threads, *context.messages);
  }

  static Model given(RunInput& input) {
    LWSVM_CHECK(input.model.has_value());
    return std::move(*input.model);
  }
};

std::vector<std::int32_t> sample_labels(const SampleSource& samples) {
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < samples.size(); ++i) labels.push_back(samples.label(i));
  return labels;
}

// Everything that is counted in one pass over the samples. Chunks come in any order, from several threads,
// and are added up in theirs.
class Tally {
 public:
  Tally(const Loss& loss, std::vector<std::int32_t> labels)
      : loss_(loss),
        labels_(std::move(labels)),
        right_(static_cast<std::size_t>(loss.classes())),
        all_(right_.size()) {}

  void add(std::int64_t first, std::int64_t count, const float* scores) {
    const int classes = loss_.classes();
    std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
    std::int64_t among_five = 0;
    std::vector<std::int64_t> right(right_.size()), all(right_.size());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t truth = labels_[static_cast<std::size_t>(first + i)];
      const float* row = scores + i * classes;
      labels[static_cast<std::size_t>(i)] = truth;
      int better = 0;
      for (int y = 0; y < classes; ++y) better += row[y] > row[truth] || (row[y] == row[truth] && y < truth);
      among_five += better < 5;
      ++all[static_cast<std::size_t>(truth)];
      right[static_cast<std::size_t>(truth)] += better == 0;
    }
    const LossSums sums = loss_.evaluate(scores, labels, nullptr, 1.0f);
    const std::lock_guard lock(mutex_);
    parts_[first] = sums;
    among_five_ += among_five;
    for (std::size_t c = 0; c < all.size(); ++c) {
      right_[c] += right[c];
      all_[c] += all[c];
    }
  }

  LossSums sums() const {
    LossSums total;
    for (const auto& [first, part] : parts_) total.add(part);
    return total;
  }

  void finish(const DataSet& data, const ModelInfo& info, EvaluateSummary& summary) const {
    if (loss_.classes() > 5)
      summary.top5 = static_cast<double>(among_five_) / static_cast<double>(labels_.size());
    const std::vector<std::string>& names = data.class_names.empty() ? info.class_names : data.class_names;
    for (std::size_t c = 0; c < all_.size(); ++c)
      summary.classes.push_back({c < names.size() ? names[c] : std::to_string(c), all_[c], right_[c]});
  }

 private:
  const Loss& loss_;
  std::vector<std::int32_t> labels_;
  std::mutex mutex_;
  std::map<std::int64_t, LossSums> parts_;  // by first sample
  std::int64_t among_five_ = 0;
  std::vector<std::int64_t> right_, all_;
};

}  // namespace

EvaluateSummary run_evaluation(const EvaluateJob& job, const RunContext& context, RunInput input) {
  const Subject subject(job, context, std::move(input));
  const auto& [model, task, samples, threads] = subject;
  const InterruptibleSource judged(samples, "judging the network");
  std::optional<WholeImages> images;
  if (job.dense) images.emplace(job.task.data, task, job.split);
  Tally tally(task.loss, images ? images->labels() : sample_labels(samples));
  if (images)
    dense_scores(model.graph, *images, threads, *context.messages,
                 [&](std::int64_t index, const float* scores) { tally.add(index, 1, scores); });
  else
    Evaluator(model.graph, threads)
        .for_scores(judged, [&](std::int64_t first, std::int64_t count, const float* scores) {
          tally.add(first, count, scores);
        });
  const LossSums sums = tally.sums();
  if (!std::isfinite(sums.mean_loss()))
    fail("eval",
         "{}: the loss on the {} samples of {} is not a finite number: activations or scores are too large "
         "for float32; check how the pixels are normalised (--normalize, --scale)",
         job.model.empty() ? "the network" : job.model, job.split, task.data.name);
  EvaluateSummary summary;
  summary.lambda = job.lambda.value_or(model.info.lambda.value_or(0.0));
  summary.regulariser = regulariser_in_file(model, job.model, summary.lambda, job.centre, *context.messages);
  summary.loss = sums.mean_loss();
  summary.objective = summary.regulariser + summary.loss;
  summary.accuracy = sums.accuracy();
  summary.samples = sums.samples;
  summary.correct = sums.correct;
  tally.finish(task.data, model.info, summary);
  return summary;
}

std::vector<float> run_scores(const EvaluateJob& job, const RunContext& context, RunInput input) {
  const Subject subject(job, context, std::move(input));
  const std::int64_t classes = class_count(subject.model.graph);
  std::vector<float> scores(static_cast<std::size_t>(subject.samples.size() * classes));
  Evaluator(subject.model.graph, subject.threads)
      .for_scores(subject.samples, [&](std::int64_t first, std::int64_t count, const float* rows) {
        std::copy_n(rows, count * classes, scores.begin() + first * classes);
      });
  return scores;
}

}  // namespace lwsvm::run
