#include "run/task.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/error.h"
#include "base/nearest.h"
#include "data/margin_csv.h"

namespace lwsvm::run {
namespace {

constexpr const char* kSplitKey = "lwsvm.split";

std::optional<SplitChoice> split_of(const ModelInfo& info, const DataSet& data) {
  const auto known = info.metadata.find(kSplitKey);
  if (known == info.metadata.end() || info.data != data.name) return {};
  unsigned long long count = 0, seed = 0;
  if (std::sscanf(known->second.c_str(), "val=%llu seed=%llu", &count, &seed) != 2) return {};
  if (count >= data.train.size()) return {};  // another data set of that name
  return SplitChoice{count, seed};
}

SplitChoice choose_split(const TaskOptions& options, const ModelInfo* info, const DataSet& data) {
  if (!data.validation.empty()) {
    if (!options.validation.empty() || options.split_seed)
      fail("split", "{} has a validation part of its own (x_val); leave out --val and --split-seed",
           data.name);
    return {};
  }
  if (info && options.validation.empty() && !options.split_seed)
    if (const auto known = split_of(*info, data)) return *known;
  return {options.validation.empty() ? default_validation_count(data)
                                     : parse_validation_count(options.validation, data.train.size()),
          options.split_seed.value_or(0)};
}

MarginMatrix margins_for(const TaskOptions& options, int classes) {
  if (!options.margins.empty()) return MarginMatrix(classes, options.margins);
  if (options.delta.empty()) return MarginMatrix(classes);
  return MarginMatrix(classes, read_margin_matrix(options.delta, classes));
}

std::vector<SampleView> crop_views(const DataSet& data, const std::vector<std::int32_t>& part) {
  std::vector<SampleView> views;
  for (const Samples& crop : data.train_crops) views.emplace_back(crop, part);
  return views;
}

std::vector<const SampleSource*> sources(const std::vector<SampleView>& views) {
  std::vector<const SampleSource*> pointers;
  pointers.reserve(views.size());
  for (const SampleView& view : views) pointers.push_back(&view);
  return pointers;
}

}  // namespace

bool is_given(const PixelSettings& pixels) {
  return !pixels.name.empty() || pixels.scale || !pixels.mean.empty() || !pixels.deviation.empty() ||
         pixels.per_pixel;
}

NormalizationOptions normalization_options(const PixelSettings& pixels, const DataSet& data) {
  NormalizationOptions numbers{pixels.scale, pixels.mean, pixels.deviation, pixels.per_pixel};
  if (!pixels.name.empty()) {
    if (numbers.given())
      fail("normalization", "--normalize {} stands for --scale, --mean and --std; give it or them, not both",
           pixels.name);
    return named_normalization(pixels.name, white_of(data).value_or(255));
  }
  numbers.validate();
  return numbers;
}

std::shared_ptr<const DataSet> load_for(const Model* model, const TaskOptions& options,
                                        const RunContext& context) {
  LoadOptions how = load_options(photo_settings(options.photos, context), model, context);
  how.data_dir = options.data_dir;
  how.crops = crops_in(options.augment);
  return std::make_shared<const DataSet>(load_data(options.data, how));
}

Task::Task(const TaskOptions& options, const ModelInfo* info, std::shared_ptr<const DataSet> given)
    : holder(given ? std::move(given)
                   : std::make_shared<const DataSet>(load_data(options.data, options.data_dir))),
      data(*holder),
      choice(choose_split(options, info, data)),
      split(split_samples(data.train.size(), choice.validation, choice.seed)),
      train(data.train, split.train),
      validation(data.validation.empty() ? SampleView(data.train, split.validation)
                                         : SampleView(data.validation)),
      test(data.test),
      crops(crop_views(data, split.train)),
      training(train, data.shape, parse_augmentation(options.augment, data), sources(crops)),
      loss(parse_loss(options.loss), margins_for(options, data.classes)) {}

std::shared_ptr<const DataSet> own_samples(const Task& whole, const Team& team) {
  const auto own = [&](std::span<const std::int32_t> samples) {
    const std::int64_t count = std::ssize(samples), begin = part_begin(count, team.rank(), team.size());
    return samples.subspan(static_cast<std::size_t>(begin),
                           static_cast<std::size_t>(part_size(count, team.rank(), team.size())));
  };
  const auto own_of_all = [&](const Samples& samples) {
    std::vector<std::int32_t> all(samples.size());
    std::iota(all.begin(), all.end(), 0);
    return samples.with_pixels_of(own(all));
  };
  DataSet part = whole.data;  // which shares the pixels
  part.checksum_of_all = checksum(whole.data);
  const auto train = own(whole.split.train), validation = own(whole.split.validation);
  std::vector<std::int32_t> both(train.begin(), train.end());
  both.insert(both.end(), validation.begin(), validation.end());
  part.train = whole.data.train.with_pixels_of(both);
  for (Samples& crops : part.train_crops) crops = crops.with_pixels_of(train);
  part.validation = own_of_all(whole.data.validation);
  part.test = own_of_all(whole.data.test);
  return std::make_shared<const DataSet>(std::move(part));
}

void note_split(const SplitChoice& choice, ModelInfo& info) {
  info.metadata[kSplitKey] = fmt::format("val={} seed={}", choice.validation, choice.seed);
}

const SampleView& Task::part(const std::string& name) const {
  const SampleView* view = name == "train"  ? &train
                           : name == "val"  ? &validation
                           : name == "test" ? &test
                                            : nullptr;
  if (!view) fail_unknown("split", "split", name, std::vector<std::string>{"train", "val", "test"});
  if (view->size() == 0)
    fail("split", "{} has no {} samples{}", data.name, name,
         data.photos.empty() ? "" : "; give them folders train and test, or another --split");
  return *view;
}

LossKind parse_loss(const std::string& name) {
  if (name == "svm" || name == "hinge") return LossKind::hinge;
  if (name == "ce" || name == "cross-entropy") return LossKind::cross_entropy;
  fail_unknown("loss", "loss", name, std::vector<std::string>{"svm", "ce"});
}

int class_count(const Graph& graph) {
  return static_cast<int>(element_count(graph.node(graph.scores()).shape));
}

void check_fit(const Model& model, const DataSet& data) {
  const std::vector<int> inputs = model.graph.inputs();
  if (inputs.size() != 1) fail("model", "the network has {} inputs; one is expected", inputs.size());
  const Shape& wanted = model.graph.node(inputs[0]).shape;
  const Shape given{data.shape.channels, data.shape.height, data.shape.width};
  if (wanted != given)
    fail("model", "the network takes {} inputs but {} has {}", to_string(wanted), data.name,
         to_string(given));
  check_network(model, data);
}

void check_network(const Model& model, const DataSet& data) {
  const int classes = class_count(model.graph);
  if (classes == 1)
    fail("model",
         "the network gives one number per sample, as for regression; lwsvm needs a score per class");
  if (classes != data.classes)
    fail("model", "the network tells {} classes apart but {} has {}", classes, data.name, data.classes);
  for (const Node& node : model.graph.nodes()) {
    const auto begin = model.graph.parameters().begin() + node.trained.begin;
    if (!std::all_of(begin, begin + node.trained.size, [](float w) { return std::isfinite(w); }))
      fail("model",
           "layer '{}' has weights that are not finite numbers; the file is damaged or its training diverged",
           node.name);
  }
}

}  // namespace lwsvm::run
