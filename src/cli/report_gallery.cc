#include "cli/report_gallery.h"

#include <algorithm>
#include <cmath>

#include "base/checkpoint.h"
#include "base/error.h"
#include "cli/model_input.h"
#include "cli/run_folder.h"
#include "model/onnx_reader.h"
#include "net/evaluator.h"
#include "report/image_url.h"

namespace lwsvm::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::size_t kImages = 12;    // improved, and damaged
constexpr std::int64_t kFilters = 64;  // of the first layer
constexpr int kChannels = 3;

// What a network says to every sample.
struct Judgement {
  std::vector<int> predicted;
  std::vector<float> margin;
};

Judgement judge(const Model& model, const SampleView& samples, const Threads& threads) {
  const int classes = class_count(model.graph);
  Judgement result;
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

ordered_json confusion(const Judgement& judgement, const SampleView& samples, int classes) {
  std::vector<std::vector<int>> counts(static_cast<std::size_t>(classes),
                                       std::vector<int>(static_cast<std::size_t>(classes)));
  for (std::size_t i = 0; i < judgement.predicted.size(); ++i)
    ++counts[static_cast<std::size_t>(samples.label(static_cast<std::int64_t>(i)))]
            [static_cast<std::size_t>(judgement.predicted[i])];
  return counts;
}

double accuracy(const Judgement& judgement, const SampleView& samples) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < judgement.predicted.size(); ++i)
    right += judgement.predicted[i] == samples.label(static_cast<std::int64_t>(i));
  return static_cast<double>(right) / static_cast<double>(judgement.predicted.size());
}

// CHW planes as the rows of grey or RGB pixels: value * gain + offset, cut to 0..255. Other than 3 channels:
// the first.
std::string picture(const float* planes, int channels, int height, int width, float gain, float offset) {
  const int shown = channels == kChannels ? kChannels : 1;
  const int plane = height * width;
  std::vector<std::uint8_t> pixels;
  for (int p = 0; p < plane; ++p)
    for (int c = 0; c < shown; ++c)
      pixels.push_back(static_cast<std::uint8_t>(
          std::lround(std::clamp(planes[c * plane + p] * gain + offset, 0.f, 255.f))));
  return image_url(pixels, width, height, shown);
}

// Bytes as they are; floats from their least to their greatest value.
std::string sample_picture(const DataSet& data, const Samples& samples, const SampleView& view,
                           std::int64_t index) {
  std::vector<float> sample(static_cast<std::size_t>(data.shape.size()));
  view.read(index, sample.data());
  float gain = 1, offset = 0;
  if (!samples.holds_bytes()) {
    const auto [least, greatest] = std::minmax_element(sample.begin(), sample.end());
    gain = *greatest > *least ? 255 / (*greatest - *least) : 0;
    offset = -*least * gain;
  }
  return picture(sample.data(), data.shape.channels, data.shape.height, data.shape.width, gain, offset);
}

// The indices of the samples with the greatest change of margin in one direction, those that became right (or
// wrong) first.
std::vector<std::size_t> most_changed(const Judgement& before, const Judgement& after, float direction) {
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
  int count = 0, channels = 0, height = 0, width = 0;
  const float* weights = nullptr;
};

Filters first_filters(const Model& model, const ImageShape& shape) {
  for (const Node& node : model.graph.nodes()) {
    if (!node.has_weights()) continue;
    for (const Parameter& parameter : node.parameters) {
      if (parameter.role != Role::weight) continue;
      Filters filters;
      filters.layer = node.name;
      filters.weights = model.graph.parameters().data() + parameter.range.begin;
      const Shape& s = parameter.shape;
      filters.count = static_cast<int>(std::min<std::int64_t>(s[0], kFilters));
      if (s.size() == 4) {
        filters.channels = static_cast<int>(s[1]);
        filters.height = static_cast<int>(s[2]);
        filters.width = static_cast<int>(s[3]);
      } else if (s.size() == 2 && s[1] == shape.size()) {
        filters.channels = shape.channels;
        filters.height = shape.height;
        filters.width = shape.width;
      } else {
        return {};
      }
      return filters;
    }
  }
  return {};
}

// Zero is mid-grey, and all filters share one scale so that before and after can be compared.
ordered_json filter_pictures(const Filters& filters, float scale) {
  ordered_json pictures = ordered_json::array();
  const int size = filters.channels * filters.height * filters.width;
  for (int k = 0; k < filters.count; ++k)
    pictures.push_back(picture(filters.weights + std::int64_t{k} * size, filters.channels, filters.height,
                               filters.width, scale > 0 ? 127.f / scale : 0.f, 128));
  return pictures;
}

float largest_weight(const Filters& filters) {
  float largest = 0;
  const std::int64_t size = std::int64_t{filters.count} * filters.channels * filters.height * filters.width;
  for (std::int64_t i = 0; i < size; ++i) largest = std::max(largest, std::abs(filters.weights[i]));
  return largest;
}

ordered_json filters_of(const Model& before, const Model& after, const ImageShape& shape) {
  const Filters old = first_filters(before, shape), refined = first_filters(after, shape);
  if (old.count == 0 || old.count != refined.count) return nullptr;
  const float scale = std::max(largest_weight(old), largest_weight(refined));
  return {{"layer", refined.layer},
          {"shape", {old.channels, old.height, old.width}},
          {"before", filter_pictures(old, scale)},
          {"after", filter_pictures(refined, scale)}};
}

std::vector<std::string> names_of_classes(const DataSet& data) {
  if (!data.class_names.empty()) return data.class_names;
  std::vector<std::string> names;
  for (int c = 0; c < data.classes; ++c) names.push_back(std::to_string(c));
  return names;
}

TaskOptions task_options(const RunHistory& run, const RunPlace& place, const std::string& data_dir) {
  const auto text = [&](const char* name) {
    const auto value = run.setting(name);
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  TaskOptions options;
  options.data = text("data");
  if (const fs::path path = place.resolve(options.data); fs::exists(path)) options.data = path.string();
  options.data_dir = data_dir.empty() ? text("data_dir") : data_dir;
  if (data_dir.empty() && !options.data_dir.empty())
    options.data_dir = place.resolve(options.data_dir).string();
  options.validation = text("val");
  if (const auto seed = run.setting("split_seed"); seed.is_number_unsigned()) options.split_seed = seed;
  return options;
}

ordered_json make_gallery(const RunHistory& run, const ReportOptions& options) {
  const RunPlace place(run.folder);
  Model before = read_onnx(run.input), after = read_onnx(run.output);
  // A foreign network does not say how its pixels are normalised; what refine was told is in its result.
  if (const auto noted = after.info.metadata.find(kNormalizeKey); noted != after.info.metadata.end())
    before.info.metadata.insert(*noted);
  const Task task(task_options(run, place, options.data_dir), &after.info);
  Terminal silent(stderr, /*quiet=*/true);
  for (Model* model : {&before, &after}) fit_input(*model, {}, task.data, silent);

  const bool has_test = task.test_part() != nullptr;
  const SampleView& samples = task.part(has_test ? "test" : "val");
  const Threads threads(options.threads);
  const Judgement old = judge(before, samples, threads), refined = judge(after, samples, threads);
  const auto right = [&](const Judgement& judgement, std::size_t i) {
    return judgement.predicted[i] == samples.label(static_cast<std::int64_t>(i));
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
    for (const std::size_t i : most_changed(old, refined, direction)) list.push_back(entry(i));
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

RunPlace::RunPlace(const fs::path& run_folder) {
  const fs::path folder = fs::absolute(run_folder).lexically_normal();
  try {
    const auto meta = Checkpoint::load_meta(checkpoint_path(folder.string()));
    candidates_.emplace_back(meta.value("working_folder", ""));
  } catch (const Error&) {  // no checkpoint, or a damaged one: the other candidates remain
  }
  candidates_.push_back(fs::current_path());
  for (fs::path above = folder; above.has_relative_path(); above = above.parent_path())
    candidates_.push_back(above);
}

fs::path RunPlace::resolve(const fs::path& path) const {
  if (path.is_absolute()) return path.lexically_normal();
  for (const fs::path& base : candidates_)
    if (fs::exists(base / path)) return fs::weakly_canonical(base / path);
  return (candidates_.front() / path).lexically_normal();
}

ordered_json make_galleries(const std::vector<RunHistory>& runs, const ReportOptions& options) {
  ordered_json galleries = ordered_json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].first("run").value("command", ordered_json()) != "refine") continue;
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

}  // namespace lwsvm::cli
