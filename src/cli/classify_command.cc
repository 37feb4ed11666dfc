// lwsvm classify: what a network says of photos, in names.
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "cli/commands.h"
#include "lwsvm/classify.h"
#include "report/json_text.h"

namespace lwsvm::cli {
namespace {

struct ClassifyOptions {
  std::string model, output_name;
  std::vector<std::string> files;
  ClassifySettings settings;
};

int classify_photos(const Common& common, const ClassifyOptions& options) {
  const InterruptGuard guard;
  Terminal terminal(stderr, common.quiet);
  ClassifySettings settings = options.settings;
  settings.photos.cache = common.cache;
  settings.photos.cache_limit = cache_limit_of(common);
  settings.threads = common.threads;
  settings.on_message = lines_on(terminal);
  const Network network = Network::load(options.model, options.output_name, settings.photos.crop_height,
                                        settings.photos.crop_width);
  const std::vector<ClassifiedPhoto> found = classify(network, options.files, settings);
  if (common.json) {
    nlohmann::ordered_json photos = nlohmann::ordered_json::array();
    for (const ClassifiedPhoto& photo : found) {
      nlohmann::ordered_json classes = nlohmann::ordered_json::array();
      for (const ClassScore& score : photo.classes)
        classes.push_back({{"label", score.label}, {"name", score.name}, {"score", score.score}});
      photos.push_back({{"file", photo.file}, {"classes", classes}});
    }
    fmt::print("{}\n", json_text(nlohmann::ordered_json{{"model", options.model}, {"photos", photos}}));
    return done;
  }
  for (const ClassifiedPhoto& photo : found) {
    std::string line = photo.file + ":";
    for (const ClassScore& score : photo.classes) line += fmt::format("  {} {:.3f}", score.name, score.score);
    fmt::print("{}\n", line);
  }
  return done;
}

}  // namespace

Command add_classify(CLI::App& app, Common& common) {
  auto options = std::make_shared<ClassifyOptions>();
  CLI::App* sub = app.add_subcommand("classify", "what a network says of photos: classes and scores");
  sub->add_option("model", options->model, "ONNX file")->required();
  sub->add_option("photos", options->files, "JPEG, PNG or WebP files")->required();
  sub->add_option("--top", options->settings.top, "classes named for each photo, the best first")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_output_name_option(*sub, options->output_name);
  add_photo_options(*sub, options->settings.photos, common);
  add_normalize_options(*sub, options->settings.pixels);
  add_common_options(*sub, common);
  return {sub, [options, &common] { return classify_photos(common, *options); }};
}

}  // namespace lwsvm::cli
