// The file as a whole: is it ONNX at all, what are its inputs, in which order do its nodes run, what does it
// say of itself. What a node means is in onnx_import_*.cc.
#include "model/onnx_reader.h"

#include <google/protobuf/stubs/logging.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>

#include "base/atomic_file.h"
#include "base/error.h"
#include "model/onnx_external.h"
#include "model/onnx_input.h"
#include "model/onnx_obstacles.h"
#include "model/onnx_operators.h"
#include "model/onnx_order.h"
#include "model/onnx_reals.h"
#include "model/onnx_source.h"

namespace lwsvm {
namespace {

constexpr std::int64_t kNewestOpset = 17;  // that was checked

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> all;
  all.reserve(names.size());
  for (const std::string& name : names) all.push_back("'" + name + "'");
  return fmt::format("{}", fmt::join(all, ", "));
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
    producers_ = find_producers(state_, proto_);
    find_output();
    const NeededNodes needed = needed_for(state_.output, proto_, producers_);
    add_inputs(needed.inputs);
    const std::vector<int> order = run_order(state_, proto_, producers_, needed.nodes);
    refuse_unknown(state_, proto_, order);
    if (state_.graph.nodes().empty()) state_.fail("the network's output does not depend on any input");
    std::vector<int> rest;
    for (int i : order)  // constants first, so that whoever looks ahead for them finds them
      if (!import_constant(state_, proto_.node(i))) rest.push_back(i);
    for (int i : rest) import_node(state_, proto_.node(i));
    set_output();
    source.parameters = stored_parameters(state_);
    source.output = state_.output;
    Model result;
    result.graph = std::move(state_.graph);
    read_info(result.info);
    return result;
  }

 private:
  void read_opset() {
    for (const auto& entry : model_.opset_import())
      if (entry.domain().empty() || entry.domain() == "ai.onnx") state_.opset = entry.version();
    if (state_.opset < 1)
      state_.fail("it does not say which version of ONNX's operators it uses; export it again");
  }

  void bind_initialisers() {
    for (const auto& tensor : proto_.initializer()) {
      ImportedValue value;
      value.tensor = &tensor;
      if (!state_.values.emplace(tensor.name(), value).second)
        state_.fail("there are two initialisers '{}'", tensor.name());
    }
    if (proto_.sparse_initializer_size() > 0) state_.fail("sparse initialisers are not supported");
  }

  void find_output() {
    state_.output = chosen_output();
    // scikit-learn's probabilities as a list of maps: what they are made of.
    const auto maker = producers_.find(state_.output);
    if (maker == producers_.end()) return;
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
    if (names.empty()) state_.fail("the network has no output");
    const auto has = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (!asked_output_.empty()) {
      if (!has(asked_output_))
        state_.fail("there is no output '{}' (--output-name); there is {}", asked_output_, quoted(names));
      return asked_output_;
    }
    for (const auto& entry : model_.metadata_props())
      if (entry.key() == kOutputKey && has(entry.value())) return entry.value();
    if (names.size() == 1) return names[0];
    if (scores.size() != 1)
      state_.fail("the network has {} outputs, {}; say which holds the scores, as in --output-name {}",
                  names.size(), quoted(names), scores.empty() ? names[0] : scores[0]);
    notes_.push_back(fmt::format("of the outputs {}, '{}' is taken for the scores; another: --output-name",
                                 quoted(names), scores[0]));
    return scores[0];
  }

  void add_inputs(const std::unordered_set<std::string>& wanted) {
    for (const auto& input : proto_.input()) {
      if (state_.values.contains(input.name()) || !wanted.contains(input.name()))
        continue;  // up to IR 3 initialisers too
      ImportedValue value;
      value.node = state_.graph.add_input(state_.names.claim(input.name()),
                                          sample_shape(state_, input, [this] { return free_size(); }));
      if (const auto& batch = input.type().tensor_type().shape().dim(0); batch.dim_value() > 0)
        state_.fixed_batch = batch.dim_value();
      state_.values.emplace(input.name(), value);
    }
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

  void set_output() {
    const auto found = state_.values.find(state_.output);
    if (found == state_.values.end()) state_.fail("no node makes the output '{}'", state_.output);
    if (found->second.node < 0 || state_.graph.node(found->second.node).is_input())
      state_.fail("the output '{}' is not computed from the input", state_.output);
    if (found->second.batch_axis > 0)
      state_.fail("the batch is not the first axis of the output '{}'; add a Transpose in front of it",
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
    understand_metadata(info);
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  std::string asked_output_;
  ImageSize free_;
  std::vector<std::string> notes_;
  ImportState state_;
  Producers producers_;
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
