#include "run/model_input.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interruptible_source.h"
#include "base/random.h"
#include "base/units.h"
#include "model/adapt_input.h"
#include "model/normalization_search.h"

namespace lwsvm::run {
namespace {

using Verdict = NormalizationFindings::Verdict;

// "98.2% with 0-1, 91.0% with 0-255": the best first.
std::string accuracies(const NormalizationFindings& found) {
  std::vector<NormalizationTrial> trials = found.trials;
  std::stable_sort(trials.begin(), trials.end(),
                   [](const auto& a, const auto& b) { return a.accuracy > b.accuracy; });
  std::string text;
  for (const NormalizationTrial& trial : trials)
    text += fmt::format("{}{:.1f}% with {}", text.empty() ? "" : ", ", 100 * trial.accuracy, trial.name);
  return text;
}

std::string rivals(const NormalizationFindings& found) {
  std::string names;
  for (std::size_t c = 0; c < found.trials.size(); ++c)
    if (found.trials[c].contends && c != found.taken)
      names += (names.empty() ? "" : ", ") + found.trials[c].name;
  return names;
}

constexpr const char* kRemedy =
    "say how it was trained with --normalize NAME, or --scale, --mean and --std (see --help)";

// What trying came to, in a line. Throws Error where nothing can be concluded, unless `anyway`.
void tell(const NormalizationFindings& found, bool anyway, Messages& messages) {
  const NormalizationTrial& taken = found.trials[found.taken];
  const std::string table = fmt::format("accuracy on up to {} training samples: {}",
                                        format_count(taken.samples), accuracies(found));
  const bool concluded = found.verdict == Verdict::best || found.verdict == Verdict::alike;
  if (!concluded && !anyway) {
    if (found.verdict == Verdict::guessing)
      fail("model",
           "the network does no better than guessing, however its pixels are normalised ({}); {}; with "
           "--anyway they are taken as they are stored",
           table, kRemedy);
    fail("model",
         "the file does not say how its pixels are normalised, and trying does not tell ({}); {}; "
         "--anyway takes {}",
         table, kRemedy, taken.name);
  }
  messages.line("the file does not say how its pixels are normalised; taken: {}{} ({}); another: --normalize",
                taken.name,
                found.verdict == Verdict::best ? ""
                : found.verdict == Verdict::alike
                    ? fmt::format(", about as accurate as {} and with a lower loss", rivals(found))
                : found.verdict == Verdict::guessing ? ", although the network seems to guess"
                                                     : ", although that is not certain",
                table);
}

std::size_t as_stored(std::span<const KnownNormalization> known, double white) {
  for (std::size_t c = 0; c < known.size(); ++c)
    if (known[c].white_becomes == white && known[c].mean.empty()) return c;
  return 0;
}

// By trying, on samples of the training set that are always the same.
NormalizationOptions found_by_trying(const Model& model, const DataSet& data, const Shape& sample,
                                     bool anyway, const Threads& threads, Messages& messages) {
  const double white = white_of(data).value_or(255);
  const std::vector<KnownNormalization> known = fitting_normalizations(data);
  std::vector<NormalizationCandidate> candidates;
  for (const KnownNormalization& normalization : known) {
    Normalization constants = make_normalization(data, {}, normalization.options(white));
    candidates.push_back(
        {normalization.name, std::move(constants.mean), std::move(constants.std), constants.reversed});
  }
  Random random(0);
  const SampleView chosen(data.train, random_permutation(data.train.size(), random));
  const InterruptibleSource samples(chosen, "trying normalisations");
  NormalizationFindings found = search_normalization(model, sample, candidates, samples, threads);
  if (found.verdict == Verdict::guessing) found.taken = as_stored(known, white);
  tell(found, anyway, messages);
  return known[found.taken].options(white);
}

}  // namespace

std::string normalization_text(const NormalizationOptions& options) {
  nlohmann::json text{{"mean", options.mean}, {"std", options.std}};
  if (options.scale) text["scale"] = *options.scale;
  if (options.reversed) text["bgr"] = true;
  return text.dump();
}

NormalizationOptions stored_normalization(const ModelInfo& info) {
  NormalizationOptions options;
  const auto found = info.metadata.find(kNormalizeKey);
  if (found == info.metadata.end()) return options;
  try {
    const auto text = nlohmann::json::parse(found->second);
    options.mean = text.at("mean").get<std::vector<double>>();
    options.std = text.at("std").get<std::vector<double>>();
    if (text.contains("scale")) options.scale = text.at("scale").get<double>();
    options.reversed = text.value("bgr", false);
  } catch (const nlohmann::json::exception&) {
    fail("model",
         "the network's metadata say '{}' of its normalisation, which lwsvm cannot read; give --normalize",
         found->second);
  }
  return options;
}

std::vector<KnownNormalization> fitting_normalizations(const DataSet& data) {
  std::vector<KnownNormalization> fitting;
  const bool pixels = white_of(data).has_value();
  for (const KnownNormalization& known : known_normalizations())
    if (pixels && fits(known, data.shape)) fitting.push_back(known);
  if (fitting.empty()) fitting.push_back({"as stored", 255, {}, {}});
  return fitting;
}

bool is_foreign(const ModelInfo& info) {
  return !info.producer.starts_with("lwsvm");
}

void fit_input(Model& model, const PixelSettings& pixels, const DataSet& data, const Threads& threads,
               Messages& messages) {
  NormalizationOptions options = normalization_options(pixels, data);
  for (const std::string& note : model.info.notes) messages.line("{}", note);
  if (!model.source || !is_foreign(model.info)) {
    if (options.given())
      fail("model",
           "the network carries its own normalisation; leave out --normalize, --scale, --mean, --std");
    return check_fit(model, data);
  }
  if (options.per_pixel)
    fail("model", "--per-pixel is for new networks; this one expects the pixels that it was trained on");
  const Shape sample{data.shape.channels, data.shape.height, data.shape.width};
  const std::vector<int> inputs = model.graph.inputs();
  if (inputs.size() != 1 || !can_take(model.graph.node(inputs[0]).shape, sample))
    return check_fit(model, data);  // says why not
  check_network(model, data);
  if (!options.given()) options = stored_normalization(model.info);
  if (!options.given()) options = found_by_trying(model, data, sample, pixels.anyway, threads, messages);
  model.info.metadata[kNormalizeKey] = normalization_text(options);
  const Normalization constants = make_normalization(data, {}, options);
  adapt_input(model, sample, constants.mean, constants.std, constants.reversed);
}

}  // namespace lwsvm::run
