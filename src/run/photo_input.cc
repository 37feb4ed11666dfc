#include "run/photo_input.h"

#include <charconv>
#include <cmath>

#include "base/error.h"

namespace lwsvm {

void set_crop(PhotoSettings& settings, const std::string& text) {
  const char* end = text.data() + text.size();
  const auto height = std::from_chars(text.data(), end, settings.crop_height);
  auto width = height;
  settings.crop_width = settings.crop_height;
  if (height.ec == std::errc() && height.ptr != end && *height.ptr == 'x')
    width = std::from_chars(height.ptr + 1, end, settings.crop_width);
  if (height.ec != std::errc() || width.ec != std::errc() || width.ptr != end || settings.crop_height < 1 ||
      settings.crop_width < 1)
    fail("crop", "'{}' is no size; give a number of pixels, or HEIGHTxWIDTH as in 192x256", text);
}

}  // namespace lwsvm

namespace lwsvm::run {
namespace {

std::optional<int> square_root(std::int64_t number) {
  const auto root = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(number))));
  return root > 0 && root * root == number ? std::optional(static_cast<int>(root)) : std::nullopt;
}

bool may_be_channels(std::int64_t count) {
  return count == 1 || count == 3;
}

}  // namespace

ImageSize asked_size(const PhotoOptions& options) {
  PhotoSettings settings;
  if (!options.crop.empty()) set_crop(settings, options.crop);
  return {settings.crop_height, settings.crop_width};
}

PhotoSettings photo_settings(const PhotoOptions& options, const RunContext& context) {
  PhotoSettings settings;
  settings.short_side = options.resize;
  if (!options.crop.empty()) set_crop(settings, options.crop);
  settings.channels = options.channels;
  settings.stretch = options.stretch;
  settings.skip_bad = options.skip_bad;
  settings.cache = context.cache;
  settings.cache_limit = context.cache_limit;
  return settings;
}

std::optional<ImageShape> image_shape(const Shape& input) {
  constexpr std::int64_t kLargest = 1 << 14;
  for (const std::int64_t side : input)
    if (input.size() == 3 && side > kLargest) return {};
  if (input.size() == 3 && may_be_channels(input[0]))
    return ImageShape{static_cast<int>(input[0]), static_cast<int>(input[1]), static_cast<int>(input[2])};
  if (input.size() == 3 && may_be_channels(input[2]))
    return ImageShape{static_cast<int>(input[2]), static_cast<int>(input[0]), static_cast<int>(input[1])};
  if (input.size() != 1) return {};
  if (const auto side = square_root(input[0])) return ImageShape{1, *side, *side};
  if (const auto side = square_root(input[0] / 3); side && input[0] % 3 == 0)
    return ImageShape{3, *side, *side};
  return {};
}

LoadOptions load_options(const PhotoSettings& photos, const Model* model, const RunContext& context,
                         bool own_classes) {
  LoadOptions options;
  options.data_dir = context.data_dir;
  options.photos = photos;
  options.threads = context.threads;
  options.messages = context.messages;
  if (!model) return options;
  if (const std::vector<int> inputs = model->graph.inputs(); inputs.size() == 1)
    options.network = image_shape(model->graph.node(inputs[0]).shape);
  if (!own_classes) options.class_names = model->info.class_names;
  const bool given = photos.short_side > 0 || photos.crop_height > 0 || photos.stretch;
  const auto noted = model->info.metadata.find(kPhotosKey);
  if (given || noted == model->info.metadata.end()) return options;
  if (const auto known = parse_photo_geometry(noted->second)) {
    options.photos.short_side = known->short_side;
    options.photos.stretch = known->short_side == 0;
    options.photos.crop_height = known->height;
    options.photos.crop_width = known->width;
  }
  return options;
}

PhotoGeometry photo_geometry_for(const PhotoSettings& settings, const Model* model) {
  const LoadOptions options = load_options(settings, model, {});
  return photo_geometry(options.photos, options.network);
}

void note_photos(const DataSet& data, ModelInfo& info) {
  if (data.photos.empty())
    info.metadata.erase(kPhotosKey);
  else
    info.metadata[kPhotosKey] = data.photos;
}

}  // namespace lwsvm::run
