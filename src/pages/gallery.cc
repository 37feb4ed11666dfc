#include "pages/gallery.h"

#include <algorithm>
#include <cmath>

#include "base/checkpoint.h"
#include "base/error.h"
#include "data/registry.h"
#include "data/synthetic.h"
#include "model/onnx_reader.h"
#include "net/evaluator.h"
#include "report/image_url.h"
#include "run/adaptation_run.h"
#include "run/model_input.h"
#include "run/run_context.h"
#include "run/run_folder.h"

namespace lwsvm::pages {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kImages = 12;    // improved, and damaged
constexpr std::int64_t kFilters = 64;  // of the first layer
constexpr int kRgb = 3;
constexpr float kZero[] = {244, 244, 242}, kNegative[] = {0, 90, 160}, kPositive[] = {200, 80, 0};  // weights

// What a network says to every sample.
struct Answers {
  std::vector<int> predicted;
  std::vector<float> margin;
};

Answers answers_of(const Model& model, const SampleView& samples, const Threads& threads) {
  const int classes = run::class_count(model.graph);
  Answers result;
  result.predicted.resize(static_cast<std::size_t>(samples.size()));
  result.margin.resize(static_cast<std::size_t>(samples.size()));
  Evaluator evaluator(model.graph, threads);
  evaluator.for_scores(samples, [&](std::int64_t first, std::int64_t count, const float* scores) {
    for (std::int64_t i = first; i < first + count; ++i, scores += classes) {
      const std::int32_t label = samples.label(i);
      float other = -INFINITY;
      for (int c = 0; c < classes; ++c)
        if (c != label) other = std::max(other, scores[c]);
      result.predicted[static_cast<std::size_t>(i)] = predicted_class(scores, classes);
      result.margin[static_cast<std::size_t>(i)] = scores[label] - other;
    }
  });
  return result;
}

ordered_json confusion(const Answers& answers, const SampleView& samples, int classes) {
  std::vector<std::vector<int>> counts(static_cast<std::size_t>(classes),
                                       std::vector<int>(static_cast<std::size_t>(classes)));
  for (std::size_t i = 0; i < answers.predicted.size(); ++i)
    ++counts[static_cast<std::size_t>(samples.label(static_cast<std::int64_t>(i)))]
            [static_cast<std::size_t>(answers.predicted[i])];
  return counts;
}

double accuracy(const Answers& answers, const SampleView& samples) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < answers.predicted.size(); ++i)
    right += answers.predicted[i] == samples.label(static_cast<std::int64_t>(i));
  return static_cast<double>(right) / static_cast<double>(answers.predicted.size());
}

std::uint8_t to_byte(float value) {
  return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.f, 255.f)));
}

// CHW planes as the rows of grey or RGB pixels: value * gain + offset. Other than 3 channels: the first.
std::string picture(const float* planes, const ImageShape& shape, float gain, float offset) {
  const int shown = shape.channels == kRgb ? kRgb : 1;
  const int plane = shape.height * shape.width;
  std::vector<std::uint8_t> pixels;
  for (int p = 0; p < plane; ++p)
    for (int c = 0; c < shown; ++c) pixels.push_back(to_byte(planes[c * plane + p] * gain + offset));
  return image_url(pixels, shape.width, shape.height, shown);
}

// Weights of one channel, -1 to 1: blue over near-white to orange, which colour-blind people can tell apart.
std::string signed_picture(const float* plane, const ImageShape& shape, float gain) {
  std::vector<std::uint8_t> pixels;
  for (int p = 0; p < shape.height * shape.width; ++p) {
    const float value = plane[p] * gain;
    const float* end = value < 0 ? kNegative : kPositive;
    for (int c = 0; c < kRgb; ++c)
      pixels.push_back(to_byte(kZero[c] + std::abs(value) * (end[c] - kZero[c])));
  }
  return image_url(pixels, shape.width, shape.height, kRgb);
}

// Bytes as they are; floats from their smallest to their largest value.
std::string sample_picture(const DataSet& data, const Samples& samples, const SampleView& view,
                           std::int64_t index) {
  std::vector<float> sample(static_cast<std::size_t>(data.shape.size()));
  view.read(index, sample.data());
  float gain = 1, offset = 0;
  if (!samples.holds_bytes()) {
    const auto [min, max] = std::minmax_element(sample.begin(), sample.end());
    gain = *max > *min ? 255 / (*max - *min) : 0;
    offset = -*min * gain;
  }
  return picture(sample.data(), data.shape, gain, offset);
}

// The indices of the samples with the largest change of margin in one direction, those that became right (or
// wrong) first.
std::vector<std::size_t> with_largest_change(const Answers& before, const Answers& after, float direction) {
  struct Change {
    bool turned;
    float by;
    std::size_t index;
  };
  std::vector<Change> changes;
  for (std::size_t i = 0; i < before.margin.size(); ++i) {
    const float by = direction * (after.margin[i] - before.margin[i]);
    if (!(by > 0)) continue;
    const bool turned = direction * before.margin[i] < 0 && direction * after.margin[i] > 0;
    changes.push_back({turned, by, i});
  }
  const std::size_t count = std::min(kImages, changes.size());
  std::partial_sort(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(count), changes.end(),
                    [](const Change& a, const Change& b) {
                      if (a.turned != b.turned) return a.turned;
                      return a.by != b.by ? a.by > b.by : a.index < b.index;
                    });
  std::vector<std::size_t> indices;
  for (std::size_t k = 0; k < count; ++k) indices.push_back(changes[k].index);
  return indices;
}

// The first layer's weights as images, if they are: a convolution's, or a dense layer's on the pixels.
struct Filters {
  std::string layer;
  std::int64_t count = 0;
  ImageShape shape;  // of one
  const float* weights = nullptr;

  float largest() const {
    float result = 0;
    for (std::int64_t i = 0; i < count * shape.size(); ++i) result = std::max(result, std::abs(weights[i]));
    return result;
  }
};

Filters first_filters(const Model& model, const ImageShape& input) {
  const auto& nodes = model.graph.nodes();
  const auto node = std::find_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.has_weights(); });
  if (node == nodes.end()) return {};
  const auto weight = std::find_if(node->parameters.begin(), node->parameters.end(),
                                   [](const Parameter& p) { return p.role == Role::weight; });
  if (weight == node->parameters.end()) return {};
  const Shape& shape = weight->shape;
  Filters filters{node->name, std::min(shape[0], kFilters), input,
                  model.graph.parameters().data() + weight->range.begin};
  if (shape.size() == 4)
    filters.shape = {static_cast<int>(shape[1]), static_cast<int>(shape[2]), static_cast<int>(shape[3])};
  else if (shape.size() != 2 || shape[1] != input.size())
    return {};
  return filters;
}

// All filters share one scale, so that before and after can be compared.
ordered_json filter_pictures(const Filters& filters, float scale) {
  ordered_json pictures = ordered_json::array();
  const float gain = scale > 0 ? 1 / scale : 0;
  for (std::int64_t k = 0; k < filters.count; ++k) {
    const float* weights = filters.weights + k * filters.shape.size();
    pictures.push_back(filters.shape.channels == kRgb ? picture(weights, filters.shape, 127 * gain, 128)
                                                      : signed_picture(weights, filters.shape, gain));
  }
  return pictures;
}

ordered_json filters_of(const Model& before, const Model& after, const ImageShape& shape) {
  const Filters old = first_filters(before, shape), refined = first_filters(after, shape);
  if (old.count == 0 || old.count != refined.count || old.shape != refined.shape) return nullptr;
  const float scale = std::max(old.largest(), refined.largest());
  return {{"layer", refined.layer},
          {"shape", {old.shape.channels, old.shape.height, old.shape.width}},
          {"before", filter_pictures(old, scale)},
          {"after", filter_pictures(refined, scale)}};
}

std::vector<std::string> names_of_classes(const DataSet& data) {
  if (!data.class_names.empty()) return data.class_names;
  std::vector<std::string> names(static_cast<std::size_t>(data.classes));
  for (std::size_t c = 0; c < names.size(); ++c) names[c] = std::to_string(c);
  return names;
}

run::TaskOptions task_options(const RunHistory& run, const RunPaths& paths, const std::string& data_dir) {
  run::TaskOptions options;
  options.data = run.text_setting("data");
  if (!is_synthetic(options.data) && !find_known(options.data))  // else a folder may have that name by chance
    if (const fs::path path = paths.resolve(options.data); fs::exists(path)) options.data = path.string();
  options.data_dir = data_dir.empty() ? run.text_setting("data_dir") : data_dir;
  if (data_dir.empty() && !options.data_dir.empty())
    options.data_dir = paths.resolve(options.data_dir).string();
  options.validation = run.text_setting("val");
  // How photos are cut is in the network's file; runs of older versions say nothing of them.
  if (const auto skip = run.setting("skip_bad"); skip.is_boolean()) options.photos.skip_bad = skip;
  if (const auto seed = run.setting("split_seed"); seed.is_number_unsigned()) options.split_seed = seed;
  return options;
}

// What the result is compared with: the network that was refined, or, where it was adapted to other classes,
// the same with its new last layer alone.
fs::path file_before(const RunHistory& run) {
  if (run.first("run").value("command", ordered_json()) != "adapt") return run.input;
  return (fs::is_directory(run.folder) ? fs::path(run.folder) : fs::path(run.folder).parent_path()) /
         run::kHeadFile;
}

ordered_json make_gallery(const RunHistory& run, const ReportOptions& options) {
  const RunPaths paths(run.folder);
  Model after = read_onnx(run.output),
        before = read_onnx(file_before(run), noted_output(after.info), noted_size(after.info));
  // A foreign network does not say how its pixels are normalised; what refine was told is in its result.
  if (const auto normalized = after.info.metadata.find(run::kNormalizeKey);
      normalized != after.info.metadata.end())
    before.info.metadata.insert(*normalized);
  const run::TaskOptions wanted = task_options(run, paths, options.data_dir);
  const run::Task task(wanted, &after.info, run::load_for(&after, wanted, {}));
  const Threads threads(options.threads);
  PixelSettings pixels;
  pixels.anyway = true;
  for (Model* model : {&before, &after}) run::fit_input(*model, pixels, task.data, threads, run::silence());

  const bool has_test = task.test_part() != nullptr;
  const SampleView& samples = task.part(has_test ? "test" : "val");
  const Answers old = answers_of(before, samples, threads), refined = answers_of(after, samples, threads);
  const auto right = [&](const Answers& answers, std::size_t i) {
    return answers.predicted[i] == samples.label(static_cast<std::int64_t>(i));
  };
  int newly_right = 0, newly_wrong = 0;
  for (std::size_t i = 0; i < old.predicted.size(); ++i) {
    newly_right += !right(old, i) && right(refined, i);
    newly_wrong += right(old, i) && !right(refined, i);
  }
  const auto entry = [&](std::size_t i) -> ordered_json {
    const auto index = static_cast<std::int64_t>(i);
    return {{"index", i},
            {"label", samples.label(index)},
            {"image", sample_picture(task.data, has_test ? task.data.test : task.data.train, samples, index)},
            {"before", {{"label", old.predicted[i]}, {"margin", old.margin[i]}}},
            {"after", {{"label", refined.predicted[i]}, {"margin", refined.margin[i]}}}};
  };
  const auto entries = [&](float direction) {
    ordered_json list = ordered_json::array();
    for (const std::size_t i : with_largest_change(old, refined, direction)) list.push_back(entry(i));
    return list;
  };
  return {{"part", has_test ? "test" : "validation"},
          {"samples", samples.size()},
          {"classes", names_of_classes(task.data)},
          {"confusion",
           {{"before", confusion(old, samples, task.data.classes)},
            {"after", confusion(refined, samples, task.data.classes)}}},
          {"accuracy", {{"before", accuracy(old, samples)}, {"after", accuracy(refined, samples)}}},
          {"newly_right", newly_right},
          {"newly_wrong", newly_wrong},
          {"improved", entries(1)},
          {"damaged", entries(-1)},
          {"filters", filters_of(before, after, task.data.shape)}};
}

}  // namespace

RunPaths::RunPaths(const fs::path& run) {
  const fs::path folder = fs::is_directory(run) ? run / "" : run;  // or a log itself
  folder_ = fs::absolute(folder).lexically_normal().parent_path();
  try {
    const auto meta = Checkpoint::load_meta(run::checkpoint_path(folder_.string()));
    if (meta.contains("working_folder")) begun_in_ = meta["working_folder"].get<std::string>();
  } catch (const std::exception&) {  // no checkpoint, or not a whole one: it was only a hint
  }
}

std::vector<fs::path> RunPaths::candidates(const fs::path& path) const {
  std::vector<fs::path> result;
  if (!begun_in_.empty()) result.push_back(begun_in_);
  result.push_back(fs::current_path());
  result.push_back(folder_);
  result.push_back(folder_.parent_path());
  // out/demo/base.onnx may begin where out/ leads to the run; for a bare name that would be a guess.
  if (std::distance(path.begin(), path.end()) < 2) return result;
  fs::path below = folder_;
  for (fs::path above = folder_.parent_path(); above.has_relative_path(); above = above.parent_path()) {
    if (below.filename() == *path.begin()) result.push_back(above);
    below = above;
  }
  return result;
}

fs::path RunPaths::resolve(const fs::path& path) const {
  if (path.empty()) return path;
  if (path.is_absolute()) {
    const fs::path beside = folder_.parent_path() / path.parent_path().filename() / path.filename();
    return (fs::exists(beside) ? beside : path).lexically_normal();
  }
  const std::vector<fs::path> bases = candidates(path);
  for (const fs::path& base : bases)
    if (fs::exists(base / path)) return fs::weakly_canonical(base / path);
  return (bases.front() / path).lexically_normal();
}

ordered_json make_galleries(const std::vector<RunHistory>& runs, const ReportOptions& options) {
  ordered_json galleries = ordered_json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto command = runs[i].first("run").value("command", ordered_json());
    if (command != "refine" && command != "adapt") continue;
    ordered_json gallery{{"run", i}};
    try {
      gallery.update(make_gallery(runs[i], options));
    } catch (const Error& error) {
      gallery["note"] = error.what();
    }
    galleries.push_back(std::move(gallery));
  }
  return galleries;
}

}  // namespace lwsvm::pages
