// The file as a whole: is it ONNX at all, what are its inputs, in which order do its nodes run, what does it
// say of itself. What a node means is in onnx_import_*.cc.
#include "model/onnx_reader.h"

#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <queue>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/nearest.h"
#include "model/onnx_external.h"
#include "model/onnx_import.h"
#include "model/onnx_obstacles.h"
#include "model/onnx_reals.h"
#include "model/onnx_source.h"

namespace lwsvm {
namespace {

constexpr std::int64_t kNewestOpset = 17;  // that was checked

using Importers = std::unordered_map<std::string, void (*)(NodeImport&)>;

const Importers& all_importers() {
  static const Importers importers = [] {
    Importers all;
    for (auto group : {activation_importers(), arithmetic_importers(), axis_importers(), frozen_importers(),
                       linear_importers(), pooling_importers(), resize_importers(), shape_importers()})
      for (const OperatorImporter& entry : group) all.emplace(entry.op, entry.import);
    return all;
  }();
  return importers;
}

bool is_recurrent(const std::string& op) {
  return op == "LSTM" || op == "GRU" || op == "RNN";
}

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  all.reserve(names.size());
  for (const std::string& name : names) all.push_back("'" + name + "'");
  return fmt::format("{}", fmt::join(all, ", "));
}

// The nearest thing that works: what such an operator is replaced by, or one of nearly that name.
[[noreturn]] void fail_unsupported(const NodeImport& node, const std::string& op,
                                   const std::string& others = "") {
  static const std::unordered_map<std::string, const char*> replacements{
      {"Gelu", "Erf"},
      {"Mish", "HardSwish"},
      {"LpPool", "AveragePool"},
      {"GlobalLpPool", "GlobalAveragePool"},
      {"QLinearConv", "Conv"},
      {"ConvInteger", "Conv"},
      {"QLinearMatMul", "MatMul"},
      {"MatMulInteger", "MatMul"},
      {"QGemm", "Gemm"},
      {"GroupNormalization", "InstanceNormalization"},
      {"LpNormalization", "LRN"},
      {"Tile", "Concat"},
  };
  if (is_recurrent(op))
    node.fail("operator {} is not supported: recurrent layers cannot be read, only networks without them{}",
              op, others);
  const auto found = replacements.find(op);
  const std::vector<std::string> known = known_operators();
  const std::string near = found != replacements.end() ? found->second : nearest_word(op, known);
  if (near.empty())
    node.fail("operator {} is not supported{}; those that are: {}", op, others, fmt::join(known, ", "));
  node.fail("operator {} is not supported; the nearest that is: {}{}", op, near, others);
}

// What people save as .onnx that is none; nothing if it may be one.
std::string mistaken_for(std::string_view bytes) {
  if (bytes.empty()) return "the file is empty";
  if (bytes.starts_with("version https://git-lfs"))
    return "this is a Git LFS pointer, not the model itself; get it with 'git lfs pull'";
  std::string head(bytes.substr(0, 256));
  head.erase(0, head.find_first_not_of(" \t\r\n\xef\xbb\xbf"));
  std::transform(head.begin(), head.end(), head.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (head.starts_with("<!doctype html") || head.starts_with("<html") || head.starts_with("<?xml"))
    return "this is a web page, not a model; the download went wrong";
  if (bytes.starts_with("PK\x03\x04"))
    return "this is a zip file (PyTorch's .pt, or .npz), not ONNX; export the model to ONNX";
  if (bytes.starts_with("\x89HDF"))
    return "this is an HDF5 file (Keras), not ONNX; convert the model to ONNX";
  if (bytes.starts_with("\x1f\x8b")) return "this is a gzip file; unpack it first";
  return "";
}

class Reader {
 public:
  Reader(const onnx::ModelProto& model, std::string file, std::size_t bytes, std::string output,
         ImageSize free)
      : model_(model), proto_(model.graph()), asked_output_(std::move(output)), free_(free) {
    state_.file = std::move(file);
    state_.budget = (std::int64_t{64} << 20) + 16 * static_cast<std::int64_t>(bytes);
  }

  Model read(OnnxSource& source) {
    read_opset();
    bind_initialisers();
    find_producers();
    find_output();
    mark_needed();
    add_inputs();
    const std::vector<int> order = run_order();
    refuse_unknown(order);
    if (state_.graph.nodes().empty()) fail_file("the network's output does not depend on any input");
    std::vector<int> rest;
    for (int i : order)  // constants first, so that whoever looks ahead for them finds them
      if (!import_constant(proto_.node(i))) rest.push_back(i);
    for (int i : rest) import(proto_.node(i));
    set_output();
    source.parameters = stored_parameters(state_);
    source.output = state_.output;
    Model result;
    result.graph = std::move(state_.graph);
    read_info(result.info);
    return result;
  }

 private:
  template <typename... Args>
  [[noreturn]] void fail_file(fmt::format_string<Args...> text, Args&&... args) const {
    fail("onnx", "{}: {}", state_.file, fmt::format(text, std::forward<Args>(args)...));
  }

  void read_opset() {
    for (const auto& entry : model_.opset_import())
      if (entry.domain().empty() || entry.domain() == "ai.onnx") state_.opset = entry.version();
    if (state_.opset < 1)
      fail_file("it does not say which version of ONNX's operators it uses; export it again");
  }

  void bind_initialisers() {
    for (const auto& tensor : proto_.initializer()) {
      ImportedValue value;
      value.tensor = &tensor;
      if (!state_.values.emplace(tensor.name(), value).second)
        fail_file("there are two initialisers '{}'", tensor.name());
    }
    if (proto_.sparse_initializer_size() > 0) fail_file("sparse initialisers are not supported");
  }

  void find_output() {
    state_.output = chosen_output();
    // scikit-learn's probabilities as a list of maps: what they are made of.
    const auto maker = producer_.find(state_.output);
    if (maker == producer_.end()) return;
    const onnx::NodeProto& node = proto_.node(maker->second);
    if (node.op_type() == "ZipMap" && node.domain() == "ai.onnx.ml" && node.input_size() > 0)
      state_.output = node.input(0);
  }

  std::string chosen_output() {
    std::vector<std::string> names, scores;
    for (const auto& output : proto_.output()) {
      names.push_back(output.name());
      // Labels are integers or texts; what is no tensor is a list of maps, of probabilities.
      const auto& type = output.type();
      if (!type.has_tensor_type() || is_real(type.tensor_type().elem_type())) scores.push_back(output.name());
    }
    if (names.empty()) fail_file("the network has no output");
    const auto has = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!asked_output_.empty()) {
      if (!has(asked_output_))
        fail_file("there is no output '{}' (--output-name); there is {}", asked_output_, quoted(names));
      return asked_output_;
    }
    for (const auto& entry : model_.metadata_props())
      if (entry.key() == kOutputKey && has(entry.value())) return entry.value();
    if (names.size() == 1) return names[0];
    if (scores.size() != 1)
      fail_file("the network has {} outputs, {}; say which holds the scores, as in --output-name {}",
                names.size(), quoted(names), scores.empty() ? names[0] : scores[0]);
    notes_.push_back(fmt::format("of the outputs {}, '{}' is taken for the scores; another: --output-name",
                                 quoted(names), scores[0]));
    return scores[0];
  }

  void find_producers() {
    for (int i = 0; i < proto_.node_size(); ++i)
      for (const std::string& output : proto_.node(i).output()) {
        if (output.empty()) continue;
        if (state_.values.contains(output) || !producer_.emplace(output, i).second)
          fail_file("two nodes make the value '{}'", output);
      }
    for (const auto& input : proto_.input())
      if (producer_.contains(input.name()))
        fail_file("a node makes the value '{}', which is an input", input.name());
  }

  // Only what leads to the output is read: a file may hold training nodes, or heads that nobody asks for.
  void mark_needed() {
    needed_.assign(static_cast<std::size_t>(proto_.node_size()), false);
    std::vector<std::string> open{state_.output};
    const auto visit = [&](const std::string& name) {
      const auto found = producer_.find(name);
      if (found == producer_.end()) {
        wanted_.insert(name);
        return;
      }
      const auto node = static_cast<std::size_t>(found->second);
      if (needed_[node]) return;
      needed_[node] = true;
      for (const std::string& input : proto_.node(found->second).input())
        if (!input.empty()) open.push_back(input);
    };
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      visit(name);
    }
  }

  void add_inputs() {
    for (const auto& input : proto_.input()) {
      if (state_.values.contains(input.name()) || !wanted_.contains(input.name()))
        continue;  // up to IR 3 initialisers too
      ImportedValue value;
      value.node = state_.graph.add_input(state_.names.claim(input.name()), sample_shape(input));
      if (const auto& batch = input.type().tensor_type().shape().dim(0); batch.dim_value() > 0)
        state_.fixed_batch = batch.dim_value();
      state_.values.emplace(input.name(), value);
    }
  }

  // Images of any size: the axes of height and width are free, and beside them is that of 1 or 3 channels.
  // Which of the two is the height is returned; 0: these are none.
  static int free_height_axis(const onnx::TensorShapeProto& shape) {
    if (shape.dim_size() != 4) return 0;
    const auto is_free = [&](int axis) { return !shape.dim(axis).has_dim_value(); };
    const auto is_channels = [&](int axis) {
      return shape.dim(axis).dim_value() == 1 || shape.dim(axis).dim_value() == 3;
    };
    if (is_channels(1) && is_free(2) && is_free(3)) return 2;
    return is_channels(3) && is_free(1) && is_free(2) ? 1 : 0;
  }

  ImageSize free_size() {
    ModelInfo info;
    for (const auto& entry : model_.metadata_props())
      if (entry.key() == kPhotosKey) info.metadata[kPhotosKey] = entry.value();
    ImageSize size = free_.height > 0 ? free_ : noted_size(info);
    if (size.height == 0) {
      size = {224, 224};
      notes_.emplace_back("the file leaves the size of its images free; taken: 224 x 224 (another: --crop)");
    }
    return size;
  }

  Shape sample_shape(const onnx::ValueInfoProto& input) {
    const auto& type = input.type().tensor_type();
    if (!input.type().has_tensor_type() || !is_real(type.elem_type()))
      fail_file("input '{}' is not of real numbers; export the model so that it is", input.name());
    if (!type.has_shape() || type.shape().dim_size() < 2)
      fail_file("input '{}' has no shape such as [N, channels, height, width]; export the model with one",
                input.name());
    Shape sample;
    const int height_axis = free_height_axis(type.shape());
    const ImageSize size = height_axis > 0 ? free_size() : ImageSize{};
    for (int i = 1; i < type.shape().dim_size(); ++i) {
      const auto& dim = type.shape().dim(i);
      if (height_axis > 0 && (i == height_axis || i == height_axis + 1)) {
        sample.push_back(i == height_axis ? size.height : size.width);
        continue;
      }
      if (!dim.has_dim_value())
        fail_file(
            "axis {} of input '{}' has no fixed size; export the model with one (only the batch may be free)",
            i, input.name());
      sample.push_back(dim.dim_value());
    }
    const auto count = checked_count(sample, kLargestValue);
    if (!count || *count == 0)
      fail_file("input '{}' has the impossible shape {}", input.name(), to_string(sample));
    return sample;
  }

  // Nodes after those they read, otherwise as in the file.
  std::vector<int> run_order() {
    std::vector<int> waits(static_cast<std::size_t>(proto_.node_size()), 0);
    std::unordered_map<std::string, std::vector<int>> waiting;
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    std::size_t total = 0;
    for (int i = 0; i < proto_.node_size(); ++i) {
      if (!needed_[static_cast<std::size_t>(i)]) continue;
      ++total;
      const onnx::NodeProto& node = proto_.node(i);
      for (const std::string& input : node.input()) {
        if (input.empty()) continue;
        state_.readers[input].push_back(&node);
        if (producer_.contains(input)) {
          waiting[input].push_back(i);
          ++waits[static_cast<std::size_t>(i)];
        } else if (!state_.values.contains(input)) {
          NodeImport(state_, node)
              .fail("its input '{}' is made by no node, and is neither an initialiser nor an input", input);
        }
      }
      if (waits[static_cast<std::size_t>(i)] == 0) ready.push(i);
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int i = ready.top();
      ready.pop();
      order.push_back(i);
      for (const std::string& output : proto_.node(i).output()) {
        const auto found = waiting.find(output);
        if (found == waiting.end()) continue;
        for (int reader : found->second)
          if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
      }
    }
    if (order.size() == total) return order;
    for (int i = 0; i < proto_.node_size(); ++i)
      if (needed_[static_cast<std::size_t>(i)] && waits[static_cast<std::size_t>(i)] > 0)
        NodeImport(state_, proto_.node(i)).fail("it depends on its own output: the network has a cycle");
    return order;
  }

  // What cannot be read at all is named before anything else is found wanting: shapes that are computed for
  // an LSTM, or for attention, are not what matters.
  void refuse_unknown(const std::vector<int>& order) {
    std::unordered_set<std::string> computed;  // from the network's input, not from its shape
    for (const auto& [name, value] : state_.values)
      if (value.node >= 0) computed.insert(name);
    const std::vector<std::string> known = known_operators();
    const onnx::NodeProto* worst = nullptr;
    std::vector<std::string> unknown;
    for (int i : order) {
      const onnx::NodeProto& node = proto_.node(i);
      const auto is_computed = [&](const std::string& name) { return computed.contains(name); };
      const auto inputs = std::count_if(node.input().begin(), node.input().end(), is_computed);
      if (inputs == 0 || node.op_type() == "Shape" || node.op_type() == "Size") continue;
      for (const std::string& output : node.output()) computed.insert(output);
      const bool product = node.op_type() == "MatMul" && inputs == 2;
      const bool readable =
          is_standard(node) && std::binary_search(known.begin(), known.end(), node.op_type());
      if (readable && !product) continue;
      if (!product && std::find(unknown.begin(), unknown.end(), node.op_type()) == unknown.end())
        unknown.push_back(node.op_type());
      if (worst == nullptr || (is_recurrent(node.op_type()) && !is_recurrent(worst->op_type())))
        worst = &node;
    }
    if (worst == nullptr) return;
    std::erase(unknown, worst->op_type());
    const NodeImport node(state_, *worst);
    const std::string others =
        unknown.empty() ? "" : fmt::format(" (also not supported here: {})", fmt::join(unknown, ", "));
    if (worst->op_type() == "MatMul" && is_standard(*worst))
      node.fail(
          "MatMul of two computed values, as in attention, is not piecewise linear, and not supported; one "
          "must be weights{}",
          others);
    if (!is_standard(*worst)) return;  // import() says so
    fail_unsupported(node, worst->op_type(), others);
  }

  static bool is_standard(const onnx::NodeProto& proto) {
    return proto.domain().empty() || proto.domain() == "ai.onnx";
  }

  bool import_constant(const onnx::NodeProto& proto) {
    if (!is_standard(proto)) return false;
    NodeImport node(state_, proto);
    if (proto.op_type() != "Constant") return fold(node);
    all_importers().at("Constant")(node);
    return true;
  }

  void import(const onnx::NodeProto& proto) {
    NodeImport node(state_, proto);
    if (!is_standard(proto))
      node.fail("operator {} of '{}' is not supported, only ONNX's own operators are", proto.op_type(),
                proto.domain());
    if (fold(node)) return;
    const auto found = all_importers().find(proto.op_type());
    if (found == all_importers().end()) fail_unsupported(node, proto.op_type());
    found->second(node);
  }

  void set_output() {
    const auto found = state_.values.find(state_.output);
    if (found == state_.values.end()) fail_file("no node makes the output '{}'", state_.output);
    if (found->second.node < 0 || state_.graph.node(found->second.node).is_input())
      fail_file("the output '{}' is not computed from the input", state_.output);
    if (found->second.batch_axis > 0)
      fail_file("the batch is not the first axis of the output '{}'; add a Transpose in front of it",
                state_.output);
    state_.graph.set_output(found->second.node);
  }

  void read_info(ModelInfo& info) const {
    info.name = proto_.name();
    info.producer = model_.producer_name();
    if (!model_.producer_version().empty()) info.producer += " " + model_.producer_version();
    info.opset = state_.opset;
    if (state_.opset > kNewestOpset)
      info.notes.push_back(fmt::format(
          "the file uses opset {} of ONNX; lwsvm knows up to {} and reads it as if nothing had changed",
          state_.opset, kNewestOpset));
    info.notes.insert(info.notes.end(), notes_.begin(), notes_.end());
    for (const auto& entry : model_.metadata_props()) info.metadata[entry.key()] = entry.value();
    if (!asked_output_.empty() && proto_.output_size() > 1) info.metadata[kOutputKey] = asked_output_;

    // What we understand moves from the metadata into its field; what we do not stays as it is.
    const auto take = [&](const char* key, auto&& understand) {
      const auto found = info.metadata.find(key);
      if (found != info.metadata.end() && understand(found->second)) info.metadata.erase(found);
    };
    const auto take_text = [&](const char* key, std::string& text) {
      take(key, [&](const std::string& value) { return text = value, !value.empty(); });
    };
    take_text("lwsvm.arch", info.arch);
    take_text("lwsvm.data", info.data);
    take_text("lwsvm.input", info.input);
    take("lwsvm.lambda", [&](const std::string& value) {
      double lambda = 0;
      const char* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, lambda);
      if (error != std::errc() || stop != end) return false;
      info.lambda = lambda;
      return true;
    });
    take("lwsvm.classes", [&](const std::string& value) {
      int classes = 0;
      const char* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, classes);
      if (error != std::errc() || stop != end || classes <= 0) return false;
      info.classes = classes;
      return true;
    });
    take("lwsvm.class_names", [&](const std::string& value) {
      const auto names = nlohmann::json::parse(value, nullptr, false);
      if (!names.is_array() || names.empty()) return false;
      if (!std::all_of(names.begin(), names.end(), [](const auto& name) { return name.is_string(); }))
        return false;
      info.class_names = names.get<std::vector<std::string>>();
      return true;
    });
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  std::string asked_output_;
  ImageSize free_;
  std::vector<std::string> notes_;
  ImportState state_;
  std::unordered_map<std::string, int> producer_;  // value -> node
  std::unordered_set<std::string> wanted_;         // values that no node makes
  std::vector<bool> needed_;
};

void check_size(std::uint64_t bytes, const std::string& file) {
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
    fail("onnx", "{}: the file has more than 2 GB, which no ONNX file may have", file);
}

// `folder` is where other files of the model may lie; empty: nowhere.
Model read(std::string_view bytes, const std::string& file, const std::filesystem::path& folder,
           const std::string& output, ImageSize free) {
  const std::string mistake = mistaken_for(bytes);
  if (!mistake.empty()) fail("onnx", "{}: {}", file, mistake);
  check_size(bytes.size(), file);

  auto source = std::make_shared<OnnxSource>();
  onnx::ModelProto& proto = source->proto;
  {
    const google::protobuf::LogSilencer
        silence;  // protobuf would print what is wrong, and say less than we do
    if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      fail("onnx", "{}: this is not an ONNX file, or one that is cut off or damaged; get it again", file);
  }
  if (!proto.has_graph()) fail("onnx", "{}: this is not an ONNX model: there is no network in it", file);
  source->tensors = all_tensors(proto);
  std::uint64_t size = bytes.size();
  if (!folder.empty()) size += embed_external_data(source->tensors, folder, file);
  Model model = Reader(proto, file, size, output, free).read(*source);
  model.source = std::move(source);
  return model;
}

}  // namespace

std::vector<std::string> known_operators() {
  std::vector<std::string> known = foldable_operators();
  for (const auto& [name, importer] : all_importers()) known.push_back(name);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

std::string noted_output(const ModelInfo& info) {
  const auto found = info.metadata.find(kOutputKey);
  return found == info.metadata.end() ? "" : found->second;
}

ImageSize noted_size(const ModelInfo& info) {
  constexpr int kLargestSide = 16384;
  const auto found = info.metadata.find(kPhotosKey);
  if (found == info.metadata.end()) return {};
  const char* text = found->second.c_str();
  ImageSize size;
  const bool known = std::sscanf(text, "resize=%*d crop=%dx%d", &size.height, &size.width) == 2 ||
                     std::sscanf(text, "stretch=%dx%d", &size.height, &size.width) == 2;
  const bool sane =
      size.height > 0 && size.height <= kLargestSide && size.width > 0 && size.width <= kLargestSide;
  return known && sane ? size : ImageSize{};
}

Model from_onnx_bytes(std::string_view bytes, const std::string& file, const std::string& output,
                      ImageSize free) {
  return read(bytes, file, "", output, free);
}

Model read_onnx(const std::filesystem::path& path, const std::string& output, ImageSize free) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    fail("onnx", "{}: this is a folder; give the .onnx file in it", path.string());
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    fail("onnx", "{}: this is a device or a pipe; give an .onnx file", path.string());  // may have no end
  if (const auto size = std::filesystem::file_size(path, error); !error) check_size(size, path.string());
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  return read(read_file(path), path.string(), folder, output, free);
}

}  // namespace lwsvm
