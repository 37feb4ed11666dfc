#include "run/centre.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "data/sha256.h"
#include "model/onnx_reader.h"
#include "run/model_input.h"

namespace lwsvm::run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCentre = "lwsvm.centre";
constexpr const char* kLayers = "lwsvm.layers";
constexpr const char* kRegulariser = "lwsvm.regulariser";
constexpr const char* kWeights = "lwsvm.weights_sha256";
constexpr const char* kStart = "lwsvm.start";
constexpr const char* kStartSha = "lwsvm.start_sha256";

std::string stored_text(const ModelInfo& info, const char* key) {
  const auto found = info.metadata.find(key);
  return found == info.metadata.end() ? "" : found->second;
}

std::optional<double> noted_value(const ModelInfo& info) {
  const std::string text = stored_text(info, kRegulariser);
  double value = 0;
  const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || mistake != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string weights_sha256(const Graph& graph, const Regulariser& regulariser) {
  Sha256 hash;
  for (const Regulariser::Layer& layer : regulariser.layers())
    hash.update(graph.parameters().data() + layer.range.begin,
                static_cast<std::size_t>(layer.range.size) * sizeof(float));
  return hash.hex();
}

bool same_shapes(const Node& a, const Node& b) {
  return std::ranges::equal(a.parameters, b.parameters, {}, &Parameter::shape, &Parameter::shape);
}

// The weights of `path` for the layers of the graph, found by name. A layer that it does not have is new and
// pulled to zero.
std::vector<float> weights_of_file(const fs::path& path, const Model& model, std::span<const int> layers,
                                   Messages& messages) {
  const Graph& graph = model.graph;
  const Graph other = read_onnx(path.string(), noted_output(model.info)).graph;
  std::vector<float> weights(graph.parameters().size(), 0.0f);
  std::vector<std::string> missing;
  for (int node : layers) {
    const Node& here = graph.node(node);
    const auto found = other.find(here.name);
    if (!found || !same_shapes(other.node(*found), here)) {
      missing.push_back(here.name);
      continue;
    }
    std::copy_n(other.parameters().begin() + other.node(*found).trained.begin, here.trained.size,
                weights.begin() + here.trained.begin);
  }
  if (missing.size() == layers.size())
    fail("centre", "{} has none of the layers {}; --centre takes a network of the same layers", path.string(),
         fmt::join(missing, ", "));
  if (!missing.empty())
    messages.line("{} has no such layer {}: it counts as new and is pulled to zero", path.string(),
                  fmt::join(missing, ", "));
  return weights;
}

std::vector<int> noted_layers(const Model& model) {
  std::vector<int> nodes;
  const std::string text = stored_text(model.info, kLayers);
  if (text.empty()) {
    for (int node = 0; node < static_cast<int>(model.graph.nodes().size()); ++node)
      if (model.graph.node(node).has_weights()) nodes.push_back(node);
    return nodes;
  }
  const auto names = nlohmann::json::parse(text, nullptr, false);
  if (!names.is_array()) fail("model", "the network's metadata say '{}' of {}: not a list", text, kLayers);
  for (const auto& name : names) {
    const auto node = model.graph.find(name.is_string() ? name.get<std::string>() : "");
    if (!node || !model.graph.node(*node).has_weights())
      fail("model", "the network's metadata name a layer {} in {} that it does not have", name.dump(),
           kLayers);
    nodes.push_back(*node);
  }
  return nodes;
}

// The file with the centre of the network in `path`: where it was, or beside it.
std::optional<fs::path> find_start(const ModelInfo& info, const fs::path& path) {
  const fs::path stored = stored_text(info, kStart);
  if (stored.empty()) return std::nullopt;
  for (const fs::path& candidate : {path.parent_path() / stored, path.parent_path() / stored.filename()}) {
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored) && sha256_of_file(candidate) == stored_text(info, kStartSha))
      return candidate.lexically_normal();
  }
  return std::nullopt;
}

// The weights are those that the remembered value is for.
bool value_is_fresh(const Model& model, std::span<const int> layers) {
  return stored_text(model.info, kWeights) ==
         weights_sha256(model.graph, Regulariser(model.graph, 1.0, layers));
}

Centre centre_of_file(const fs::path& path, const Model& model, std::span<const int> layers,
                      Messages& messages) {
  if (!fs::exists(path))
    fail("centre", "there is no file {}; --centre takes start, zero or an ONNX file", path.string());
  return {true, path, sha256_of_file(path), weights_of_file(path, model, layers, messages)};
}

}  // namespace

bool centred_at_start(const ModelInfo& info) {
  const std::string kind = stored_text(info, kCentre);
  if (!kind.empty()) return kind == "start";
  return is_foreign(info) && !info.lambda;
}

std::string noted_start(const ModelInfo& info) {
  return centred_at_start(info) ? stored_text(info, kStart) : "";
}

Centre noted_centre(const ModelInfo& info, const fs::path& file) {
  return {centred_at_start(info), file, stored_text(info, kStartSha), {}};
}

Centre choose_centre(const std::string& option, const Model& model, std::span<const int> layers,
                     const fs::path& input, Messages& messages) {
  const auto as_read = [&] {
    return Centre{true, input, input.empty() ? "" : sha256_of_file(input), model.graph.parameters()};
  };
  if (option == "zero") return {};
  if (option == "start") return as_read();
  if (!option.empty()) return centre_of_file(option, model, layers, messages);
  if (!centred_at_start(model.info)) return {};
  if (stored_text(model.info, kCentre).empty()) return as_read();  // not refined before
  if (const auto start = find_start(model.info, input)) {
    messages.line("the regulariser stays centred at {}, from which the network was refined", start->string());
    return centre_of_file(*start, model, layers, messages);
  }
  messages.line(
      "{}, from which the network was refined, is not found: the regulariser is centred at the network as it "
      "is "
      "now, and the objective begins anew; --centre FILE to go on with the old one",
      stored_text(model.info, kStart).empty() ? "the network" : stored_text(model.info, kStart));
  return as_read();
}

void forget_centre(ModelInfo& info) {
  for (const char* key : {kCentre, kLayers, kRegulariser, kWeights, kStart, kStartSha})
    info.metadata.erase(key);
}

void note_centre(const Centre& centre, const Regulariser& regulariser, const fs::path& output, Model& model) {
  forget_centre(model.info);
  auto& metadata = model.info.metadata;
  metadata[kCentre] = centre.at_start ? "start" : "zero";
  nlohmann::json names = nlohmann::json::array();
  for (const Regulariser::Layer& layer : regulariser.layers())
    names.push_back(model.graph.node(layer.node).name);
  metadata[kLayers] = names.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (!centre.at_start) return;
  if (!centre.file.empty()) {
    const fs::path file = fs::absolute(centre.file).lexically_normal();
    metadata[kStart] =
        output.empty()
            ? file.generic_string()
            : file.lexically_relative(fs::absolute(output).lexically_normal().parent_path()).generic_string();
    metadata[kStartSha] = centre.sha256;
  }
  note_regulariser(regulariser, model);  // already now: a resumed run finds its keys in the same order
}

void note_regulariser(const Regulariser& regulariser, Model& model) {
  if (stored_text(model.info, kCentre) != "start") return;
  model.info.metadata[kRegulariser] = fmt::format("{}", regulariser.value(model.graph.parameters()));
  model.info.metadata[kWeights] = weights_sha256(model.graph, regulariser);
}

double regulariser_in_file(const Model& model, const fs::path& path, double lambda, const std::string& option,
                           Messages& messages) {
  if (lambda == 0) return 0;
  const bool at_start = option.empty() ? centred_at_start(model.info) : option != "zero";
  if (at_start && option.empty() && stored_text(model.info, kCentre).empty()) return 0;  // its own start
  const std::vector<int> layers = noted_layers(model);
  const std::vector<float>& parameters = model.graph.parameters();
  if (!at_start) return Regulariser(model.graph, lambda, layers).value(parameters);
  const auto around = [&](const fs::path& file) {
    const Centre centre = centre_of_file(file, model, layers, messages);
    return Regulariser(model.graph, lambda, layers, centre.weights).value(parameters);
  };
  if (!option.empty()) return around(option);
  const std::optional<double> value = noted_value(model.info);
  if (value && value_is_fresh(model, layers))
    return lambda == model.info.lambda ? *value : *value * (lambda / model.info.lambda.value_or(lambda));
  const auto start = find_start(model.info, path);
  if (!start)
    fail(
        "eval",
        "{}: the weights were changed since lwsvm wrote the file, so the regulariser's value in it no longer "
        "holds, and {}, at which it is centred, is not found; give --centre FILE, or --lambda 0 for the loss "
        "alone",
        path.string(), stored_text(model.info, kStart));
  messages.line(
      "the weights were changed since lwsvm wrote the file; its objective is computed anew around {}",
      start->string());
  return around(*start);
}

}  // namespace lwsvm::run
