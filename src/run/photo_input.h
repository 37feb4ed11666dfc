// Data for a network: photos are resized and cut to what it takes, and numbered by its classes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "data/photo.h"
#include "model/model.h"
#include "model/onnx_reader.h"
#include "run/run_context.h"
#include "run/settings.h"

namespace lwsvm::run {

// --resize, --crop, --stretch, --skip-bad, as a run remembers them.
struct PhotoOptions {
  int resize = 0;    // 0: by the crop
  std::string crop;  // "224", or "192x256": height x width; empty: by the network
  int channels = 0;  // 0: by the network
  bool stretch = false;
  bool skip_bad = false;

  template <typename Self, typename Visit>
  static void fields(Self& self, const Visit& visit) {  // run/settings.h
    visit("resize", self.resize);
    visit("crop", self.crop);
    visit("stretch", self.stretch);
    visit("skip_bad", self.skip_bad);
    visit("channels", self.channels, 0);
  }
};

// For networks that leave it free: that of --crop, or 0 x 0.
ImageSize asked_size(const PhotoOptions& options);  // throws Error

PhotoSettings photo_settings(const PhotoOptions& options, const RunContext& context);  // throws Error

// What images a network of this input takes; nothing where it cannot be told.
std::optional<ImageShape> image_shape(const Shape& input);
// As the settings say, else as the network's file remembers, else by its input. Without a network: 224 x 224.
PhotoGeometry photo_geometry_for(const PhotoSettings& settings, const Model* model);

// `model` null: there is none yet. Its class names, if it has some, number those of the photos, unless
// `own_classes`.
LoadOptions load_options(const PhotoSettings& photos, const Model* model, const RunContext& context,
                         bool own_classes = false);

// How the photos were cut, if the data are any, for the network's file.
void note_photos(const DataSet& data, ModelInfo& info);

}  // namespace lwsvm::run
