#include "run/svm_run.h"

#include <algorithm>
#include <filesystem>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/units.h"
#include "data/margin_csv.h"
#include "model/arch.h"
#include "model/onnx_writer.h"
#include "net/evaluator.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;

// What can be known to be wrong before the work begins.
void check_output(const SvmJob& job) {
  if (job.output.empty()) return;
  const fs::path folder = fs::absolute(job.output).parent_path();
  if (!fs::is_directory(folder)) fail("svm", "-o {}: there is no folder {}", job.output, folder.string());
  if (fs::is_directory(job.output)) fail("svm", "-o {}: this is a folder; give a file", job.output);
  for (const std::string& input : {job.source.train_file, job.source.test_file})
    if (!input.empty() && fs::exists(input) && fs::exists(job.output) && fs::equivalent(input, job.output))
      fail("svm", "{} would overwrite its input; give another -o", job.output);
  check_writable(job.output);
}

// A network has a weight for every feature from the first to the last.
void check_model_size(const SvmJob& job, const SvmData& data, bool in_memory) {
  constexpr double kLargest = 2e9;  // bytes: what an ONNX file may hold
  const std::int64_t features = data.data.shape.size();
  const double bytes = sizeof(float) * static_cast<double>(data.data.classes) * static_cast<double>(features);
  if (bytes <= kLargest || (job.output.empty() && !in_memory)) return;
  fail("svm",
       "{}: a network of {} classes x {} features takes {}, and an ONNX file holds at most 2 GB; number the "
       "features from 1 without gaps{}",
       in_memory ? data.data.name : job.source.train_file, data.data.classes, format_count(features),
       format_bytes(bytes), in_memory ? "" : ", or leave out -o");
}

Model make_model(const SvmJob& job, const SvmData& data, const Normalization& normalization) {
  const ImageShape& shape = data.data.shape;
  Model model;
  model.graph = build_network("id", {shape.channels, shape.height, shape.width}, data.data.classes,
                              normalization.mean, normalization.std, job.solver.seed);
  model.info.arch = "id";
  model.info.lambda = job.solver.lambda;
  model.info.data = data.data.name;
  model.info.classes = data.data.classes;
  model.info.class_names = data.data.class_names;
  if (data.from_files)
    model.info.input = fmt::format("{}, features 1..{} as in the file", to_string(shape), shape.size());
  note_split({data.split.validation.size(), job.source.split_seed}, model.info);
  note_photos(data.data, model.info);
  model.info.metadata["lwsvm.loss"] = "svm";
  return model;
}

// Both keep classes x width weights, then the biases; the network also those of features that no training
// sample has, which are zero.
void set_weights(Graph& graph, const LinearModel& linear, const SparseSvmData* sparse) {
  const ParameterRange range = graph.node(graph.output()).trained;
  float* weights = graph.parameters().data() + range.begin;
  const std::int64_t classes = linear.classes, width = range.size / classes - 1;
  LWSVM_CHECK(range.size == classes * (width + 1) && (sparse || width == linear.width));
  std::fill_n(weights, range.size, 0.0f);
  for (std::int64_t y = 0; y < classes; ++y)
    for (std::int64_t j = 0; j < linear.width; ++j)
      weights[y * width + (sparse ? sparse->columns[static_cast<std::size_t>(j)] : j)] =
          linear.weights[static_cast<std::size_t>(y * linear.width + j)];
  std::copy(linear.biases.begin(), linear.biases.end(), weights + classes * width);
}

// Loss and accuracy of the parts: of dense data by the evaluator that `lwsvm eval` uses.
class SvmEvaluation {
 public:
  SvmEvaluation(const SvmData& data, const Loss& loss, const LinearModel& linear, const Threads& threads)
      : data_(data), loss_(loss), linear_(linear), threads_(threads) {}

  void use(const Graph& graph) { evaluator_.emplace(graph, threads_); }

  LossSums evaluate(SvmPart which) {
    if (!data_.sparse) return evaluator_->evaluate(data_.view(which), loss_);
    constexpr std::int64_t kSamples = 256;
    const SparseSvmData::Part& part = data_.sparse->part(which);
    std::vector<LossSums> sums(static_cast<std::size_t>((part.rows.rows() + kSamples - 1) / kSamples));
    threads_.for_ranges(part.rows.rows(), kSamples, [&](std::int64_t begin, std::int64_t end) {
      const auto classes = static_cast<std::size_t>(linear_.classes);
      std::vector<float> scores(static_cast<std::size_t>(end - begin) * classes);
      for (std::int64_t i = begin; i < end; ++i)
        linear_.scores(part.rows, i,
                       std::span(scores).subspan(static_cast<std::size_t>(i - begin) * classes, classes));
      const auto labels =
          std::span(part.labels)
              .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
      sums[static_cast<std::size_t>(begin / kSamples)] = loss_.evaluate(scores.data(), labels, nullptr, 0);
    });
    LossSums total;
    for (const LossSums& some : sums) total.add(some);
    return total;
  }

  double objective(const LossSums& train, const Graph& graph, double lambda) const {
    if (!data_.sparse) return evaluator_->objective(train, Regulariser(graph, lambda));
    return 0.5 * lambda * linear_.squared_norm() + train.mean_loss();
  }

 private:
  const SvmData& data_;
  const Loss& loss_;
  const LinearModel& linear_;
  const Threads& threads_;
  std::optional<Evaluator> evaluator_;
};

void announce(Messages& messages, const SvmJob& job, const SvmData& data, const Threads& threads) {
  messages.line("{}: {} training, {} validation, {} test samples of {} features, {} classes", data.data.name,
                format_count(data.size(SvmPart::train)), format_count(data.size(SvmPart::validation)),
                format_count(data.size(SvmPart::test)), format_count(data.data.shape.size()),
                data.data.classes);
  if (data.sparse)
    messages.line("kept sparse: {} features occur in the training samples, {} numbers are not zero",
                  format_count(data.sparse->columns.size()), format_count(data.sparse->train.rows.entries()));
  messages.line("lambda {}, which is C = {:.6g} for LIBLINEAR; to a gap of {}% of the primal; {} threads",
                job.solver.lambda, 1 / (job.solver.lambda * static_cast<double>(data.size(SvmPart::train))),
                100 * job.solver.relative_gap, threads.count());
}

// Why it stopped, where that is not "the gap is closed".
void explain_stop(Messages& messages, const SvmJob& job, const Summary& summary, double gap) {
  const std::string saved = job.output.empty() ? "" : fmt::format("; what there is is in {}", job.output);
  if (summary.reason == StopReason::interrupted)
    messages.line("stopped{}", saved);
  else if (summary.reason != StopReason::gap_closed)
    messages.line(
        "--max-epochs {} used up with a gap of {:.3g}% left; more epochs, a larger --gap or a larger "
        "--lambda "
        "would close it",
        job.solver.max_epochs, 100 * gap);
}

SvmSummary summary_of(const SvmJob& job, const SvmData& data, const Loss& loss, const Model& model,
                      const MulticlassSvmResult& result, const Threads& threads) {
  const Summary& solve = result.summary;
  SvmEvaluation evaluation(data, loss, result.model, threads);
  if (!data.sparse) evaluation.use(model.graph);
  const LossSums train = evaluation.evaluate(SvmPart::train);
  SvmSummary summary;
  summary.objective = evaluation.objective(train, model.graph, job.solver.lambda);
  summary.dual = solve.dual;
  summary.gap = summary.objective - solve.dual;
  summary.relative_gap = summary.objective > 0 ? summary.gap / summary.objective : 0;
  summary.train_accuracy = train.accuracy();
  if (data.size(SvmPart::validation) > 0)
    summary.val_accuracy = evaluation.evaluate(SvmPart::validation).accuracy();
  if (data.size(SvmPart::test) > 0) summary.test_accuracy = evaluation.evaluate(SvmPart::test).accuracy();
  summary.lambda = job.solver.lambda;
  summary.samples = data.size(SvmPart::train);
  summary.c = 1 / (job.solver.lambda * static_cast<double>(summary.samples));
  summary.features = data.data.shape.size();
  summary.classes = data.data.classes;
  summary.epochs = solve.epochs;
  summary.visits = solve.visits;
  summary.dual_bytes = result.dual_bytes;
  summary.seconds = solve.seconds;
  summary.reason = to_string(solve.reason);
  summary.finished = solve.reason != StopReason::interrupted;
  summary.model = job.output;
  return summary;
}

MarginMatrix margins_for(const SvmJob& job, int classes) {
  if (!job.margins.empty()) return MarginMatrix(classes, job.margins);
  if (job.delta.empty()) return MarginMatrix(classes);
  return MarginMatrix(classes, read_margin_matrix(job.delta, classes));
}

}  // namespace

TrainedSvm run_svm(SvmJob job, const RunContext& context,
                   const std::function<bool(const SvmProgress&)>& on_progress, RunInput input) {
  Messages& messages = *context.messages;
  job.solver.validate();
  check_output(job);
  if (!context.data_dir.empty()) job.source.data_dir = context.data_dir;
  job.source.normalised = is_given(job.pixels);
  if (!input.data && job.source.train_file.empty()) {
    LoadOptions how = load_options(photo_settings(job.source.photos, context), nullptr, context);
    how.data_dir = job.source.data_dir;
    input.data = std::make_shared<const DataSet>(load_data(job.source.data, how));
  }
  const SvmData data(job.source, std::move(input.data));
  stop_if_interrupted("loading the data");
  check_model_size(job, data, input.in_memory);
  const Normalization normalization = svm_normalization(data, normalization_options(job.pixels, data.data));
  const MarginMatrix margin = margins_for(job, data.data.classes);
  Model model;  // of sparse features, which may be many, only where it is wanted
  if (!data.sparse) model = make_model(job, data, normalization);
  const Threads threads = start_threads(context.threads, messages);
  announce(messages, job, data, threads);

  const auto observer = [&](const SolveProgress& now) {
    const SvmProgress progress{now.epoch, now.epoch_end, now.primal, now.dual, now.gap, now.seconds};
    return (!on_progress || on_progress(progress)) && !interrupted();
  };
  const MulticlassSvmResult result =
      data.sparse ? train_multiclass_svm(data.sparse->train.rows, data.sparse->train.labels, margin,
                                         job.solver, threads, observer)
                  : train_multiclass_svm(feature_matrix(data.train, data.data.shape, normalization),
                                         data.data.shape.size(), labels_of(data.train), margin, job.solver,
                                         threads, observer);
  const Summary& solve = result.summary;
  if (on_progress && solve.reason != StopReason::interrupted)
    on_progress({solve.epochs, true, solve.primal, solve.dual, solve.gap, solve.seconds});
  if (data.sparse && (!job.output.empty() || input.in_memory)) model = make_model(job, data, normalization);
  if (!model.graph.nodes().empty())
    set_weights(model.graph, result.model, data.sparse ? &*data.sparse : nullptr);
  if (!job.output.empty()) write_onnx(model, job.output);
  SvmSummary summary = summary_of(job, data, Loss(LossKind::hinge, margin), model, result, threads);
  explain_stop(messages, job, solve, summary.relative_gap);
  return {std::move(summary), std::move(model)};
}

}  // namespace lwsvm::run
