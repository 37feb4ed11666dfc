#include "api/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/network_state.h"
#include "base/units.h"
#include "data/margin_csv.h"
#include "data/normalization.h"
#include "lwsvm/units.h"
#include "run/refine_choices.h"

namespace lwsvm {

run::PhotoOptions photo_options(const PhotoSettings& settings) {
  run::PhotoOptions options;
  options.resize = settings.short_side;
  if (settings.crop_height == settings.crop_width && settings.crop_height != 0)
    options.crop = std::to_string(settings.crop_height);
  else if (settings.crop_height != 0 || settings.crop_width != 0)
    options.crop = fmt::format("{}x{}", settings.crop_height, settings.crop_width);
  options.channels = settings.channels;
  options.stretch = settings.stretch;
  options.skip_bad = settings.skip_bad;
  return options;
}

run::TaskOptions task_options(const TaskSettings& settings, const DataSource& source) {
  run::TaskOptions options;
  options.data = source.name;
  options.validation = settings.validation;
  options.split_seed = settings.split_seed;
  options.delta = source.margins;
  options.margins = settings.margins;
  options.augment = settings.augment;
  options.photos = photo_options(source.photos);
  return options;
}

run::RunInput run_input(const Network& network, const Data& data) {
  run::RunInput input{true, {}, data.set()};
  if (!network.empty()) input.model = network.state().model;
  return input;
}

run::RunContext context_of(const DataSource& source, int threads, Messages& messages,
                           std::vector<run::RunObserver*> observers) {
  run::RunContext context{threads, source.data_dir, &messages, std::move(observers)};
  context.cache = source.photos.cache;
  context.cache_limit = source.photos.cache_limit;
  return context;
}

std::vector<float> load_margins(const std::string& path, int classes) {
  return read_margin_matrix(path, classes);
}

std::string TimeSpan::text_of(double seconds) {
  if (seconds == 0) return "";
  return fmt::format("{:.3f}s", seconds > 0 ? std::max(seconds, 0.001) : seconds);
}

double parse_seconds(const std::string& text, const std::string& setting) {
  return parse_duration(text, setting.c_str());
}

std::uint64_t parse_size(const std::string& text, const std::string& setting) {
  return parse_bytes(text, setting.c_str());
}

std::vector<double> parse_list(const std::string& text, const std::string& setting) {
  return parse_numbers(setting, text);
}

std::optional<double> parse_lambda(const std::string& text, const std::string& setting) {
  return run::given_lambda(setting.c_str(), text);
}

}  // namespace lwsvm
