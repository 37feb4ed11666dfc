#include "run/adapt_network.h"

#include <filesystem>

#include "base/error.h"
#include "base/units.h"
#include "model/adapt_input.h"
#include "model/onnx_new_head.h"
#include "run/adapt_pixels.h"
#include "run/centre.h"
#include "run/model_input.h"

namespace lwsvm::run {

Model transplanted(const AdaptJob& job, const Model& original, const DataSet& data, const Threads& threads,
                   AdaptState& state, Messages& messages) {
  for (const std::string& note : original.info.notes) messages.line("{}", note);
  const Shape sample{data.shape.channels, data.shape.height, data.shape.width};
  const std::vector<int> inputs = original.graph.inputs();
  if (inputs.size() != 1) fail("adapt", "the network has {} inputs; one is expected", inputs.size());
  const Shape& wanted = original.graph.node(inputs[0]).shape;
  if (!can_take(wanted, sample))
    fail("adapt", "the network takes {} inputs but {} has {}", to_string(wanted), data.name,
         to_string(sample));
  const OldHead head = find_old_head(original);
  Model model = with_new_head(original, head, data.classes);
  state.replaced = head.layer;
  messages.line("last layer: {} '{}'{}{}; in its place {} x {} weights for {} classes", head.kind, head.layer,
                head.dropped.empty() ? "" : fmt::format(" (and {} after it)", fmt::join(head.dropped, ", ")),
                head.averaged ? fmt::format(", on the average of {}", to_string(head.shape)) : "",
                data.classes, format_count(head.width), data.classes);
  const PixelChoice pixels = choose_pixels(original, model, job.pixels, data, job.seed, threads, messages);
  state.normalization = pixels.name;
  if (pixels.options.given()) {
    const Normalization constants = make_normalization(data, {}, pixels.options);
    state.scaling = normalization_text(pixels.options);
    model = with_scaling(model, {constants.mean, constants.std, constants.reversed});
    NormalizationOptions none;
    none.scale = 1.0;
    model.info.metadata[kNormalizeKey] = normalization_text(none);
  }
  forget_centre(model.info);
  model.info.arch.clear();
  model.info.lambda.reset();
  model.info.classes = data.classes;
  model.info.class_names = data.class_names;
  model.info.data = data.name;
  note_photos(data, model.info);
  model.info.metadata["lwsvm.loss"] = "svm";
  model.info.metadata["lwsvm.adapted_from"] = std::filesystem::path(job.input).filename().string();
  return model;
}

}  // namespace lwsvm::run
