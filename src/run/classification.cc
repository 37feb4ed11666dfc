#include "run/classification.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/interrupt.h"
#include "data/photo.h"
#include "net/evaluator.h"
#include "run/model_input.h"
#include "run/photo_input.h"

namespace lwsvm::run {
namespace {

std::vector<ClassScore> best_classes(const ModelInfo& info, const float* scores, int classes, int top) {
  std::vector<int> order(static_cast<std::size_t>(classes));
  std::iota(order.begin(), order.end(), 0);
  const auto count = static_cast<std::ptrdiff_t>(std::clamp(top, 1, classes));
  std::partial_sort(order.begin(), order.begin() + count, order.end(),
                    [&](int a, int b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  std::vector<ClassScore> best;
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const int label = order[static_cast<std::size_t>(k)];
    best.push_back({label, class_name(info, label), scores[label]});
  }
  return best;
}

void check_pixels(const Model& model, const PixelSettings& pixels) {
  if (is_foreign(model.info) && !is_given(pixels) && !stored_normalization(model.info).given())
    fail("classify",
         "the network's file does not say how its pixels are normalised; say how it was trained with "
         "--normalize NAME, or --scale, --mean and --std (see --help)");
}

}  // namespace

std::string class_name(const ModelInfo& info, int label) {
  const auto at = static_cast<std::size_t>(label);
  return at < info.class_names.size() ? info.class_names[at] : fmt::format("class {}", label);
}

std::vector<ClassifiedPhoto> run_classification(Model model, const std::vector<std::string>& files,
                                                const ClassifySettings& settings, const RunContext& context) {
  if (files.empty()) fail("classify", "which photos? lwsvm classify NETWORK.onnx PHOTO...");
  check_pixels(model, settings.pixels);
  const PhotoGeometry geometry = photo_geometry_for(settings.photos, &model);
  const int classes = class_count(model.graph);
  const Threads threads = start_threads(context.threads, *context.messages);

  // Decoded a few at a time, so that a whole holiday does not have to fit into memory.
  constexpr std::size_t kAtOnce = 100;
  std::vector<ClassifiedPhoto> found;
  std::optional<Evaluator> evaluator;
  Model fed;
  for (std::size_t begin = 0; begin < files.size(); begin += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, files.size() - begin);
    std::vector<std::vector<std::uint8_t>> samples(count);
    std::vector<std::string> problems(count);
    threads.for_each(static_cast<int>(count), [&](int i, int) {
      stop_if_interrupted("reading photos");
      const auto at = static_cast<std::size_t>(i);
      try {
        samples[at] = photo_sample(files[begin + at], geometry);
      } catch (const Error& error) {
        problems[at] = error.what();
      }
    });
    std::vector<std::uint8_t> pixels;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
      if (!problems[i].empty()) {
        if (!settings.photos.skip_bad) throw Error(problems[i]);
        context.messages->line("left out: {}", problems[i]);
        continue;
      }
      pixels.insert(pixels.end(), samples[i].begin(), samples[i].end());
      names.push_back(files[begin + i]);
    }
    if (names.empty()) continue;
    DataSet data;
    data.name = "photos";
    data.shape = geometry.shape();
    data.classes = classes;
    data.train = Samples(data.shape, std::move(pixels), std::vector<std::int32_t>(names.size(), 0));
    if (!evaluator) {
      fed = model;
      fit_input(fed, settings.pixels, data, threads, *context.messages);
      evaluator.emplace(fed.graph, threads);
    }
    const std::size_t first_here = found.size();
    found.resize(first_here + names.size());
    const SampleView view(data.train);
    evaluator->for_scores(view, [&](std::int64_t first, std::int64_t part, const float* scores) {
      for (std::int64_t i = 0; i < part; ++i) {
        const auto at = static_cast<std::size_t>(first + i);
        found[first_here + at] = {names[at],
                                  best_classes(model.info, scores + i * classes, classes, settings.top)};
      }
    });
  }
  return found;
}

}  // namespace lwsvm::run
