#include "run/dense_evaluation.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/interrupt.h"
#include "data/photo_list.h"
#include "data/photo_resize.h"
#include "model/fully_convolutional.h"
#include "net/program.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;

PhotoPart part_named(const std::string& name) {
  return name == "test" ? PhotoPart::test : name == "val" ? PhotoPart::validation : PhotoPart::train;
}

bool is_photo(const fs::path& file) {
  try {
    return photo_format(read_photo_file(file)) != PhotoFormat::other;
  } catch (const Error&) {
    return false;
  }
}

// The whole photo, its short side resized.
Shape whole_photo(const std::string& file, const PhotoGeometry& geometry, std::vector<float>& pixels) {
  const Photo photo = decode_photo(file, read_photo_file(file));
  int width = geometry.width, height = geometry.height;
  if (geometry.short_side > 0) {
    const std::int64_t side = geometry.short_side;
    width = static_cast<int>(photo.width <= photo.height ? side : side * photo.width / photo.height);
    height = static_cast<int>(photo.width <= photo.height ? side * photo.height / photo.width : side);
  }
  std::vector<std::uint8_t> planes(static_cast<std::size_t>(photo.channels) *
                                   static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  resize_photo(photo, {0, 0, static_cast<double>(photo.width), static_cast<double>(photo.height)}, width,
               height, {0, 0, width, height}, planes.data());
  const std::size_t plane = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  pixels.resize(static_cast<std::size_t>(geometry.channels) * plane);
  for (int c = 0; c < geometry.channels; ++c) {
    const auto from = static_cast<std::size_t>(photo.channels == 1 ? 0 : c) * plane;
    std::copy_n(planes.begin() + static_cast<std::ptrdiff_t>(from), plane,
                pixels.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(c) * plane));
  }
  if (geometry.channels == 1 && photo.channels == 3)
    fail("dense", "{}: photos in colour for a network that takes grey ones; evaluate without --dense", file);
  return {geometry.channels, height, width};
}

void mirror(const Shape& shape, const float* from, float* to) {
  const std::int64_t rows = shape[0] * shape[1], width = shape[2];
  for (std::int64_t row = 0; row < rows; ++row)
    std::reverse_copy(from + row * width, from + (row + 1) * width, to + row * width);
}

// Images of one size: a network of its own.
void run_group(const Graph& network, const Shape& shape, const std::vector<std::int64_t>& members,
               const std::vector<std::vector<float>>& pixels, std::int64_t first, const Threads& threads,
               const std::function<void(std::int64_t, const float*)>& visit) {
  const Graph graph = fully_convolutional(network, shape);
  ProgramOptions options;
  options.samples = 2;
  Program program(graph, options);
  program.load(graph);
  std::vector<Workspace> workspaces;
  workspaces.reserve(static_cast<std::size_t>(threads.count()));
  for (int i = 0; i < threads.count(); ++i) workspaces.push_back(program.make_workspace());
  const std::int64_t size = element_count(shape);
  const std::int64_t classes = element_count(graph.node(graph.output()).shape);
  threads.for_each(static_cast<int>(members.size()), [&](int i, int worker) {
    stop_if_interrupted("evaluating whole images");
    const std::int64_t index = members[static_cast<std::size_t>(i)];
    Workspace& workspace = workspaces[static_cast<std::size_t>(worker)];
    const float* image = pixels[static_cast<std::size_t>(index - first)].data();
    float* input = program.input(workspace);
    std::copy_n(image, size, input);
    mirror(shape, image, input + size);
    program.forward(workspace, PatternUse::ignore);
    const float* both = program.output(workspace);
    std::vector<float> scores(static_cast<std::size_t>(classes));
    for (std::int64_t y = 0; y < classes; ++y)
      scores[static_cast<std::size_t>(y)] = 0.5f * (both[y] + both[classes + y]);
    visit(index, scores.data());
  });
}

}  // namespace

WholeImages::WholeImages(const std::string& photos, const Task& task, const std::string& part) {
  if (task.data.photos.empty()) {
    view_ = &task.part(part);
    shape_ = {task.data.shape.channels, task.data.shape.height, task.data.shape.width};
    for (std::int64_t i = 0; i < view_->size(); ++i) labels_.push_back(view_->label(i));
    return;
  }
  geometry_ = parse_photo_geometry(task.data.photos).value_or(PhotoGeometry());
  geometry_.channels = task.data.shape.channels;
  if (photos.empty()) fail("dense", "say where the photos are that the data were loaded from");
  const PhotoList list = fs::is_directory(photos) ? list_photo_folder(photos) : list_photo_csv(photos);
  // By the classes of the data, which may be numbered by those of the network.
  for (const PhotoFile& file : list.files) {
    if (file.part != part_named(part) || !file.problem.empty() || !is_photo(file.path)) continue;
    const std::string& name = list.class_names[static_cast<std::size_t>(file.label)];
    const auto found = std::ranges::find(task.data.class_names, name);
    if (found == task.data.class_names.end()) continue;
    files_.push_back(file.path.string());
    labels_.push_back(static_cast<std::int32_t>(found - task.data.class_names.begin()));
  }
  if (files_.empty())
    fail("dense",
         "{} has no {} photos in a folder of their own; --split test, or train for all training photos",
         task.data.name, part);
}

Shape WholeImages::read(std::int64_t index, std::vector<float>& pixels) const {
  if (!view_) return whole_photo(files_[static_cast<std::size_t>(index)], geometry_, pixels);
  pixels.resize(static_cast<std::size_t>(element_count(shape_)));
  view_->read(index, pixels.data());
  return shape_;
}

void dense_scores(const Graph& network, const WholeImages& images, const Threads& threads, Messages& messages,
                  const std::function<void(std::int64_t, const float*)>& visit) {
  constexpr std::int64_t kDecodedAtOnce = 200;
  for (std::int64_t first = 0; first < images.size(); first += kDecodedAtOnce) {
    const std::int64_t count = std::min(kDecodedAtOnce, images.size() - first);
    std::vector<std::vector<float>> pixels(static_cast<std::size_t>(count));
    std::vector<Shape> shapes(static_cast<std::size_t>(count));
    threads.for_each(static_cast<int>(count), [&](int i, int) {
      stop_if_interrupted("reading whole images");
      shapes[static_cast<std::size_t>(i)] = images.read(first + i, pixels[static_cast<std::size_t>(i)]);
    });
    std::map<Shape, std::vector<std::int64_t>> groups;
    for (std::int64_t i = 0; i < count; ++i) groups[shapes[static_cast<std::size_t>(i)]].push_back(first + i);
    for (const auto& [shape, members] : groups)
      run_group(network, shape, members, pixels, first, threads, visit);
    messages.progress("whole images", static_cast<std::uint64_t>(first + count),
                      static_cast<std::uint64_t>(images.size()));
  }
}

}  // namespace lwsvm::run
