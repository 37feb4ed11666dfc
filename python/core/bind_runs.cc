#include <pybind11/stl.h>

#include <chrono>

#include "arrays.h"
#include "bindings.h"
#include "call.h"
#include "lwsvm/evaluate.h"
#include "lwsvm/refine.h"
#include "lwsvm/svm.h"
#include "lwsvm/train.h"
#include "settings.h"

namespace lwsvm::python {
namespace {

template <typename... Values>
py::dict dict_of(Values&&... entries) {
  return py::dict(std::forward<Values>(entries)...);
}

py::dict to_dict(const Quality& quality) {
  using namespace py::literals;
  return dict_of("objective"_a = quality.objective, "train_accuracy"_a = quality.train_accuracy,
                 "val_accuracy"_a = quality.val_accuracy, "test_accuracy"_a = quality.test_accuracy);
}

py::dict to_dict(const RefineUpdate& update) {
  using namespace py::literals;
  return dict_of("pass"_a = update.pass, "layer"_a = update.layer, "form"_a = update.form,
                 "accepted"_a = update.accepted, "reason"_a = update.reason, "before"_a = update.before,
                 "after"_a = update.after, "gap"_a = update.gap, "train_accuracy"_a = update.train_accuracy,
                 "val_accuracy"_a = update.val_accuracy, "seconds"_a = update.seconds);
}

py::dict to_dict(const RefineProgress& now) {
  using namespace py::literals;
  return dict_of("pass"_a = now.pass, "layer"_a = now.layer, "fraction"_a = now.fraction,
                 "epoch"_a = now.epoch, "primal"_a = now.primal, "dual"_a = now.dual, "gap"_a = now.gap);
}

py::dict to_dict(const TrainProgress& now) {
  using namespace py::literals;
  return dict_of("epoch"_a = now.epoch, "samples_done"_a = now.samples_done,
                 "running_loss"_a = now.running_loss);
}

py::dict to_dict(const TrainEpoch& epoch) {
  using namespace py::literals;
  return dict_of("epoch"_a = epoch.epoch, "evaluated"_a = epoch.evaluated, "taken_back"_a = epoch.taken_back,
                 "objective"_a = epoch.objective, "train_accuracy"_a = epoch.train_accuracy,
                 "val_accuracy"_a = epoch.val_accuracy, "seconds"_a = epoch.seconds);
}

py::dict to_dict(const SvmProgress& now) {
  using namespace py::literals;
  return dict_of("epoch"_a = now.epoch, "epoch_end"_a = now.epoch_end, "primal"_a = now.primal,
                 "dual"_a = now.dual, "gap"_a = now.gap, "seconds"_a = now.seconds);
}

py::dict to_dict(const RefineSummary& summary) {
  using namespace py::literals;
  py::list updates;
  for (const RefineUpdate& update : summary.updates) updates.append(to_dict(update));
  return dict_of("start"_a = to_dict(summary.start), "end"_a = to_dict(summary.end),
                 "updates"_a = std::move(updates), "moves"_a = summary.moves, "rejected"_a = summary.rejected,
                 "rises"_a = summary.rises, "passes"_a = summary.passes, "seconds"_a = summary.seconds,
                 "dual_bytes"_a = summary.dual_bytes, "finished"_a = summary.finished,
                 "reason"_a = summary.reason, "kept"_a = summary.kept, "lam"_a = summary.lambda,
                 "centre"_a = summary.centre, "judged_samples"_a = summary.judged_samples,
                 "report"_a = summary.full_report());
}

py::dict to_dict(const TrainSummary& summary) {
  using namespace py::literals;
  return dict_of("end"_a = to_dict(summary.end), "epochs"_a = summary.epochs, "seconds"_a = summary.seconds,
                 "finished"_a = summary.finished);
}

py::dict to_dict(const SvmSummary& summary) {
  using namespace py::literals;
  return dict_of("objective"_a = summary.objective, "dual"_a = summary.dual, "gap"_a = summary.gap,
                 "relative_gap"_a = summary.relative_gap, "train_accuracy"_a = summary.train_accuracy,
                 "val_accuracy"_a = summary.val_accuracy, "test_accuracy"_a = summary.test_accuracy,
                 "lam"_a = summary.lambda, "c"_a = summary.c, "samples"_a = summary.samples,
                 "features"_a = summary.features, "classes"_a = summary.classes, "epochs"_a = summary.epochs,
                 "seconds"_a = summary.seconds, "reason"_a = summary.reason, "finished"_a = summary.finished);
}

py::dict to_dict(const EvaluateSummary& summary) {
  using namespace py::literals;
  return dict_of("objective"_a = summary.objective, "loss"_a = summary.loss,
                 "regulariser"_a = summary.regulariser, "lam"_a = summary.lambda,
                 "accuracy"_a = summary.accuracy, "samples"_a = summary.samples,
                 "correct"_a = summary.correct);
}

// Every word to Python's function, if there is one; false stops, and so does nothing else (None goes on).
template <typename Event>
std::function<bool(const Event&)> told_to(Call& call, const py::object& listener) {
  if (listener.is_none()) return {};
  return [&call, &listener](const Event& event) {
    return call.ask([&] { return !listener(to_dict(event)).is(py::bool_(false)); });
  };
}

// The same, but not more often than a person can see: what a solver tells of itself comes thousands of times
// a second.
template <typename Event>
std::function<bool(const Event&)> shown_to(Call& call, const py::object& listener) {
  using Clock = std::chrono::steady_clock;
  if (listener.is_none()) return {};
  return [tell = told_to<Event>(call, listener), next = Clock::time_point()](const Event& event) mutable {
    if (Clock::now() < next) return true;
    const bool go_on = tell(event);
    next = Clock::now() + std::chrono::milliseconds(100);
    return go_on;
  };
}

std::function<void(const std::string&)> read_to(Call& call, const py::object& listener) {
  if (listener.is_none()) return {};
  return [&call, &listener](const std::string& text) {
    call.ask([&] {
      listener(py::str(py::bytes(text).attr("decode")("utf-8", "replace")));
      return true;
    });
  };
}

template <typename Summary>
py::dict with_interruption(const Summary& summary, const Call& call) {
  py::dict result = to_dict(summary);
  result["interrupted"] = call.interrupted();
  return result;
}

py::dict run_refine(Network& network, const Data& data, const py::kwargs& given) {
  Keywords keywords(given);
  RefineSettings settings;
  keywords.take(settings.task);
  keywords.take(settings.pixels);
  keywords.take("layers", settings.layers);
  keywords.take("lam", settings.lambda);
  keywords.take("search_lambda", settings.search_lambda);
  keywords.take("centre", settings.centre);
  keywords.take("mu", settings.mu);
  keywords.take("moves", settings.moves);
  keywords.take("passes", settings.passes);
  keywords.take("patience", settings.patience);
  keywords.take("gap", settings.gap);
  keywords.take("max_epochs", settings.max_epochs);
  keywords.take("batch", settings.batch);
  keywords.take("time_limit", settings.time_limit);
  keywords.take("memory", settings.memory);
  keywords.take("mode", settings.mode);
  keywords.take("search", settings.search);
  keywords.take("keep", settings.keep);
  keywords.take("seed", settings.seed);
  keywords.take("threads", settings.threads);
  const py::object on_progress = keywords.take("on_progress"), on_update = keywords.take("on_update"),
                   on_message = keywords.take("on_message");
  keywords.check_all_taken();
  Call call;
  settings.on_progress = shown_to<RefineProgress>(call, on_progress);
  settings.on_update = told_to<RefineUpdate>(call, on_update);
  settings.on_message = read_to(call, on_message);
  RefineSummary summary;
  Network changed = network;  // what is raised leaves the network as it was
  call.run([&] { summary = refine(changed, data, settings); });
  network = changed;
  return with_interruption(summary, call);
}

py::dict run_train(Network& network, const Data& data, const py::kwargs& given) {
  Keywords keywords(given);
  TrainSettings settings;
  keywords.take(settings.task);
  keywords.take(settings.pixels);
  keywords.take("arch", settings.arch);
  keywords.take("loss", settings.loss);
  keywords.take("solver", settings.solver);
  keywords.take("learning_rate", settings.learning_rate);
  keywords.take("lam", settings.lambda);
  keywords.take("schedule", settings.schedule);
  keywords.take("epochs", settings.epochs);
  keywords.take("time_limit", settings.time_limit);
  keywords.take("batch", settings.batch);
  keywords.take("eval_every", settings.eval_every);
  keywords.take("seed", settings.seed);
  keywords.take("threads", settings.threads);
  const py::object on_progress = keywords.take("on_progress"), on_epoch = keywords.take("on_epoch"),
                   on_message = keywords.take("on_message");
  keywords.check_all_taken();
  Call call;
  settings.on_progress = shown_to<TrainProgress>(call, on_progress);
  settings.on_epoch = told_to<TrainEpoch>(call, on_epoch);
  settings.on_message = read_to(call, on_message);
  TrainSummary summary;
  Network changed = network;
  call.run([&] { summary = train(changed, data, settings); });
  network = changed;
  return with_interruption(summary, call);
}

// (rows, columns, values, labels) of plain arrays, as scipy's csr_matrix has them, and the number of
// features.
SparseSamples to_sparse(const py::tuple& arrays, std::int64_t features, int classes,
                        std::vector<std::string> class_names) {
  if (arrays.size() != 4) throw py::type_error("expected row_begin, columns, values and labels");
  return {features,
          to_vector<std::int64_t>(arrays[0], "row_begin"),
          to_vector<std::int32_t>(arrays[1], "columns"),
          to_vector<float>(arrays[2], "values"),
          to_vector<std::int32_t>(arrays[3], "labels"),
          classes,
          std::move(class_names)};
}

template <typename Samples>
py::dict run_svm(Network& network, Samples samples, const py::kwargs& given) {
  Keywords keywords(given);
  SvmSettings settings;
  keywords.take(settings.task);
  keywords.take(settings.pixels);
  keywords.take("lam", settings.lambda);
  keywords.take("gap", settings.gap);
  keywords.take("max_epochs", settings.max_epochs);
  keywords.take("batch", settings.batch);
  keywords.take("seed", settings.seed);
  keywords.take("threads", settings.threads);
  const py::object on_progress = keywords.take("on_progress"), on_message = keywords.take("on_message");
  keywords.check_all_taken();
  Call call;
  settings.on_progress = shown_to<SvmProgress>(call, on_progress);
  settings.on_message = read_to(call, on_message);
  SvmSummary summary;
  Network changed;
  call.run([&] { summary = train_svm(changed, std::move(samples), settings); });
  network = changed;
  return with_interruption(summary, call);
}

EvaluateSettings evaluate_settings(Keywords& keywords) {
  EvaluateSettings settings;
  keywords.take(settings.task);
  keywords.take(settings.pixels);
  keywords.take("part", settings.part);
  keywords.take("loss", settings.loss);
  keywords.take("lam", settings.lambda);
  keywords.take("centre", settings.centre);
  keywords.take("threads", settings.threads);
  return settings;
}

py::dict run_evaluate(const Network& network, const Data& data, const py::kwargs& given) {
  Keywords keywords(given);
  EvaluateSettings settings = evaluate_settings(keywords);
  const py::object on_message = keywords.take("on_message");
  keywords.check_all_taken();
  Call call;
  settings.on_message = read_to(call, on_message);
  EvaluateSummary summary;
  const Network fixed = network;  // whatever another thread may do to it
  call.run([&] { summary = evaluate(fixed, data, settings); });
  return to_dict(summary);
}

py::array_t<float> run_scores(const Network& network, const Data& data, const py::kwargs& given) {
  Keywords keywords(given);
  EvaluateSettings settings = evaluate_settings(keywords);
  const py::object on_message = keywords.take("on_message");
  keywords.check_all_taken();
  Call call;
  settings.on_message = read_to(call, on_message);
  std::vector<float> all;
  const Network fixed = network;
  call.run([&] { all = scores(fixed, data, settings); });
  const auto classes = static_cast<py::ssize_t>(fixed.classes());
  const auto samples = static_cast<py::ssize_t>(all.size()) / classes;
  return to_array(std::move(all), {samples, classes});
}

}  // namespace

void bind_runs(py::module_& module) {
  module.def("refine", run_refine, py::arg("network"), py::arg("data"));
  module.def("train", run_train, py::arg("network"), py::arg("data"));
  module.def("train_svm", run_svm<Data>, py::arg("network"), py::arg("data"));
  module.def(
      "train_sparse_svm",
      [](Network& network, const py::tuple& arrays, std::int64_t features, int classes,
         std::vector<std::string> class_names, const py::kwargs& given) {
        return run_svm(network, to_sparse(arrays, features, classes, std::move(class_names)), given);
      },
      py::arg("network"), py::arg("arrays"), py::arg("features"), py::arg("classes"), py::arg("class_names"));
  module.def("evaluate", run_evaluate, py::arg("network"), py::arg("data"));
  module.def("scores", run_scores, py::arg("network"), py::arg("data"));
}

}  // namespace lwsvm::python
