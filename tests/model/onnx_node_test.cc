// Every case of the ONNX project's own operator tests (Debian package libonnx-testdata) whose operators we
// know: its inputs through our network give its outputs.
//
// A case is a file of one or a few nodes whose inputs are all inputs of the file. Networks have one input and
// weights, and their first axis is the batch. So each case is turned into networks in several ways, and must
// hold in every way in which it can be read, at least in one:
//   which inputs are computed      the first, all of them, or none (then everything is folded away)
//   how a computed one is fed      its first axis as the batch, its second (after a Transpose), or all of it
//                                  as one sample (after a Squeeze)
// A case that can be read in no way must be in kSkipped, and one that is there must not be readable.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "judge.h"
#include "model/onnx_node_skipped.h"
#include "model/onnx_operators.h"
#include "model/onnx_reader.h"
#include "net/program.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = "/usr/share/libonnx-testdata/data";

bool matches(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*')
    return matches(text, pattern.substr(1)) || (!text.empty() && matches(text.substr(1), pattern));
  return !text.empty() && text[0] == pattern[0] && matches(text.substr(1), pattern.substr(1));
}

const char* reason_for(const std::string& name) {
  for (const SkippedCase& skipped : kSkipped)
    if (matches(name, skipped.pattern)) return skipped.reason;
  return nullptr;
}

// Tensors of any type as floats, read without the reader that is tested.
struct Values {
  Shape dims;
  std::vector<float> numbers;
  int type = 0;
};

float from_half(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const float mantissa = static_cast<float>(bits & 1023) / 1024.0f, sign = bits >> 15 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa != 0 ? NAN : sign * INFINITY;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -14) : std::ldexp(1.0f + mantissa, exponent - 15));
}

template <typename Stored>
void append_raw(const std::string& raw, std::vector<float>& numbers) {
  for (std::size_t at = 0; at + sizeof(Stored) <= raw.size(); at += sizeof(Stored)) {
    Stored stored;
    std::memcpy(&stored, raw.data() + at, sizeof(Stored));
    numbers.push_back(static_cast<float>(stored));
  }
}

std::optional<Values> values_of(const onnx::TensorProto& tensor) {
  Values values{{tensor.dims().begin(), tensor.dims().end()}, {}, tensor.data_type()};
  std::vector<float>& n = values.numbers;
  const std::string& raw = tensor.raw_data();
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      n.assign(tensor.float_data().begin(), tensor.float_data().end());
      append_raw<float>(raw, n);
      break;
    case onnx::TensorProto::DOUBLE:
      for (double value : tensor.double_data()) n.push_back(static_cast<float>(value));
      append_raw<double>(raw, n);
      break;
    case onnx::TensorProto::INT64:
      for (std::int64_t value : tensor.int64_data()) n.push_back(static_cast<float>(value));
      append_raw<std::int64_t>(raw, n);
      break;
    case onnx::TensorProto::INT32:
      for (std::int32_t value : tensor.int32_data()) n.push_back(static_cast<float>(value));
      append_raw<std::int32_t>(raw, n);
      break;
    case onnx::TensorProto::FLOAT16: {
      for (std::int32_t bits : tensor.int32_data()) n.push_back(from_half(static_cast<unsigned>(bits)));
      for (std::size_t at = 0; at + 2 <= raw.size(); at += 2)
        n.push_back(from_half(static_cast<unsigned char>(raw[at]) |
                              static_cast<unsigned>(static_cast<unsigned char>(raw[at + 1])) << 8));
      break;
    }
    default:
      return std::nullopt;
  }
  if (static_cast<std::int64_t>(n.size()) != element_count(values.dims)) return std::nullopt;
  return values;
}

bool is_real(int type) {
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE ||
         type == onnx::TensorProto::FLOAT16;
}

template <typename Proto>
std::optional<Proto> read_proto(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Proto proto;
  if (!file || !proto.ParseFromString(bytes)) return std::nullopt;
  return proto;
}

struct Case {
  std::string name;
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs, outputs;
};

// `none`: nothing that we know of.
std::optional<Case> read_case(const fs::path& folder, const std::set<std::string>& known) {
  auto model = read_proto<onnx::ModelProto>(folder / "model.onnx");
  if (!model) return std::nullopt;
  for (const auto& node : model->graph().node())
    if (!known.contains(node.op_type()) || !node.domain().empty()) return std::nullopt;
  Case result{folder.filename(), std::move(*model), {}, {}};
  for (auto [kind, all] : {std::pair{"input", &result.inputs}, std::pair{"output", &result.outputs}})
    for (int k = 0;; ++k) {
      const fs::path path =
          folder / "test_data_set_0" / (std::string(kind) + "_" + std::to_string(k) + ".pb");
      if (!fs::exists(path)) break;
      all->push_back(read_proto<onnx::TensorProto>(path).value_or(onnx::TensorProto()));
    }
  return result;
}

enum class Computed { first, all, none };
enum class Fed { batch, second_axis, whole };

struct Way {
  Computed computed;
  Fed fed;
};
constexpr Way kWays[] = {{Computed::first, Fed::batch}, {Computed::first, Fed::second_axis},
                         {Computed::first, Fed::whole}, {Computed::all, Fed::batch},
                         {Computed::all, Fed::whole},   {Computed::none, Fed::whole}};

// The case as a network, and what to feed it.
class ReadNetwork {
 public:
  ReadNetwork(const Case& test, int output, Way way) : proto_(test.model), way_(way) {
    onnx::GraphProto& graph = *proto_.mutable_graph();
    const onnx::ValueInfoProto result = graph.output(output);
    std::set<std::string> weights;
    for (const auto& tensor : graph.initializer()) weights.insert(tensor.name());
    std::vector<onnx::ValueInfoProto> inputs;  // without weights, which old files list too
    for (const auto& input : graph.input())
      if (!weights.contains(input.name())) inputs.push_back(input);
    graph.clear_input();
    const auto given = std::min(inputs.size(), test.inputs.size());
    for (std::size_t k = 0; k < given && possible_; ++k) {
      const bool compute = way.computed == Computed::all || (way.computed == Computed::first && k == 0);
      if (compute)
        feed(inputs[k].name(), test.inputs[k]);
      else
        fix(inputs[k].name(), test.inputs[k]);
    }
    graph.clear_output();
    *graph.add_output() = result;
    finish(result.name(), test.outputs[static_cast<std::size_t>(output)]);
  }

  bool possible() const { return possible_; }
  std::string bytes() const { return proto_.SerializeAsString(); }
  const std::map<std::string, std::vector<float>>& fed() const { return fed_; }
  int samples() const { return samples_; }

 private:
  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }
  bool new_style() const {
    for (const auto& entry : proto_.opset_import())
      if (entry.domain().empty()) return entry.version() >= 13;
    return false;
  }

  // A constant, in the type that weights have.
  void fix(const std::string& name, const onnx::TensorProto& tensor) {
    const auto values = values_of(tensor);
    onnx::TensorProto& fixed = *graph().add_initializer();
    fixed = tensor;
    fixed.set_name(name);
    if (!values || !is_real(tensor.data_type())) return;
    fixed.clear_raw_data();
    fixed.clear_int32_data();
    fixed.clear_double_data();
    fixed.clear_float_data();
    fixed.set_data_type(onnx::TensorProto::FLOAT);
    for (float value : values->numbers) fixed.add_float_data(value);
  }

  void declare(const std::string& name, const Shape& dims, bool any_batch) {
    onnx::ValueInfoProto& info = *graph().add_input();
    info.set_name(name);
    auto& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (std::size_t k = 0; k < dims.size(); ++k) {
      auto& dim = *type.mutable_shape()->add_dim();
      if (k == 0 && any_batch)
        dim.set_dim_param("N");
      else
        dim.set_dim_value(dims[k]);
    }
  }

  onnx::NodeProto& node(const char* op, const std::vector<std::string>& from, const std::string& to) {
    onnx::NodeProto& added = *graph().add_node();
    added.set_op_type(op);
    for (const std::string& name : from) added.add_input(name);
    added.add_output(to);
    return added;
  }

  static void set(onnx::NodeProto& node, const char* name, const std::vector<std::int64_t>& values) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    for (std::int64_t value : values) attribute.add_ints(value);
  }

  void squeeze(const char* op, const std::string& from, const std::string& to) {
    if (!new_style()) return set(node(op, {from}, to), "axes", {0});
    onnx::TensorProto& axes = *graph().add_initializer();
    axes.set_name(to + "_axes");
    axes.set_data_type(onnx::TensorProto::INT64);
    axes.add_dims(1);
    axes.add_int64_data(0);
    node(op, {from, axes.name()}, to);
  }

  void feed(const std::string& name, const onnx::TensorProto& tensor) {
    const auto values = values_of(tensor);
    possible_ = possible_ && values && is_real(tensor.data_type());
    if (!possible_) return;
    feed(name, *values);
  }
  void feed(const std::string& name, const Values& values) {
    Shape dims = values.dims;
    std::vector<float> numbers = values.numbers;
    std::string outside = name;
    if (way_.fed == Fed::whole) {
      outside = "test:whole:" + name;
      squeeze("Squeeze", outside, name);
      dims.insert(dims.begin(), 1);
    } else if (way_.fed == Fed::second_axis) {
      possible_ = possible_ && dims.size() == 2;
      if (!possible_) return;
      outside = "test:transposed:" + name;
      set(node("Transpose", {outside}, name), "perm", {1, 0});
      for (std::int64_t r = 0; r < dims[0]; ++r)
        for (std::int64_t c = 0; c < dims[1]; ++c)
          numbers[static_cast<std::size_t>(c * dims[0] + r)] =
              values.numbers[static_cast<std::size_t>(r * dims[1] + c)];
      std::swap(dims[0], dims[1]);
    }
    const int samples = dims.empty() ? 0 : static_cast<int>(dims[0]);
    possible_ = possible_ && samples > 0 && (samples_ == 0 || samples_ == samples) && !numbers.empty();
    samples_ = samples;
    declare(outside, dims, way_.fed != Fed::whole);
    fed_[outside] = std::move(numbers);
  }

  // One sample gets its batch back; what is constant is added to zeros that are computed.
  void finish(const std::string& name, const onnx::TensorProto& expected) {
    if (way_.fed != Fed::whole) return;
    std::string value = name;
    const bool integral = !is_real(expected.data_type());
    const bool folded = way_.computed == Computed::none ||
                        graph().node(graph().node_size() - 1).op_type() == "Shape" ||
                        graph().node(0).op_type() == "Shape";
    if (folded) {
      if (integral) {
        onnx::AttributeProto& to = *node("Cast", {name}, "test:real").add_attribute();
        to.set_name("to");
        to.set_type(onnx::AttributeProto::INT);
        to.set_i(onnx::TensorProto::FLOAT);
        value = "test:real";
      }
      Values zeros{{expected.dims().begin(), expected.dims().end()}, {}, 0};
      zeros.numbers.assign(static_cast<std::size_t>(element_count(zeros.dims)), 0.0f);
      feed("test:zeros", zeros);
      node("Add", {"test:zeros", value}, "test:sum");
      value = "test:sum";
    }
    squeeze("Unsqueeze", value, "test:result");
    graph().mutable_output(0)->set_name("test:result");
  }

  onnx::ModelProto proto_;
  Way way_;
  bool possible_ = true;
  int samples_ = 0;
  std::map<std::string, std::vector<float>> fed_;
};

std::vector<float> run(const Graph& graph, const ReadNetwork& network) {
  ProgramOptions options;
  options.samples = network.samples();
  options.target = graph.output();
  Program program(graph, options);
  program.load(graph);
  Workspace workspace = program.make_workspace();
  const std::vector<int> inputs = graph.inputs();
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const std::vector<float>& numbers = network.fed().at(graph.node(inputs[k]).name);
    std::copy(numbers.begin(), numbers.end(), program.input(workspace, static_cast<int>(k)));
  }
  program.forward(workspace, PatternUse::ignore);
  const std::int64_t count = options.samples * element_count(graph.node(graph.output()).shape);
  return {program.output(workspace), program.output(workspace) + count};
}

bool near(float a, float b, bool half) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= (half ? 1e-3f : 2e-5f) + (half ? 1e-3f : 1e-4f) * std::abs(b);
}

// In how many ways the output could be computed; all of them right. `why`: what hindered the others.
int ways_that_hold(const Case& test, int output, std::string& why) {
  const auto expected = values_of(test.outputs[static_cast<std::size_t>(output)]);
  int held = 0;
  for (const Way& way : kWays) {
    if (!expected) break;
    const ReadNetwork network(test, output, way);
    if (!network.possible()) continue;
    Model model;
    try {
      model = from_onnx_bytes(network.bytes(), test.name);
    } catch (const Error& error) {
      why += std::string("\n    ") + error.what();
      continue;
    }
    const std::vector<float> got = run(model.graph, network);
    const bool half = expected->type == onnx::TensorProto::FLOAT16;
    bool right = got.size() == expected->numbers.size();
    for (std::size_t i = 0; right && i < got.size(); ++i) right = near(got[i], expected->numbers[i], half);
    EXPECT_TRUE(right) << test.name << " output " << output << ", computed " << static_cast<int>(way.computed)
                       << ", fed " << static_cast<int>(way.fed) << ": " << got.size() << " values";
    held += right;
  }
  return held;
}

TEST(OnnxNode, EveryCaseOfAKnownOperatorHoldsOrIsSkippedForAReason) {
  if (!fs::exists(kFolder / "node"))
    LWSVM_NO_JUDGE() << kFolder << " is not there (Debian package libonnx-testdata)";
  const std::vector<std::string> operators = known_operators();
  const std::set<std::string> known(operators.begin(), operators.end());
  std::vector<fs::path> folders;
  for (const char* group : {"node", "pytorch-converted", "pytorch-operator", "simple"})
    for (const auto& entry : fs::directory_iterator(kFolder / group)) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());

  std::map<std::string, std::vector<std::string>> skipped;  // by reason
  std::set<std::string> tested;
  int cases = 0, outputs = 0, ways = 0;
  for (const fs::path& folder : folders) {
    const auto test = read_case(folder, known);
    if (!test) continue;
    ++cases;
    for (int k = 0; k < static_cast<int>(test->outputs.size()); ++k) {
      const std::string name = k == 0 ? test->name : test->name + ":" + std::to_string(k);
      const char* reason = reason_for(name);
      std::string why;
      const int held = ways_that_hold(*test, k, why);
      if (reason) {
        EXPECT_EQ(held, 0) << name << " is skipped (" << reason << ") but can be read";
        skipped[reason].push_back(name);
      } else {
        EXPECT_GT(held, 0) << name << " is neither run nor skipped for a reason; " << why;
        for (const auto& node : test->model.graph().node()) tested.insert(node.op_type());
        ++outputs;
        ways += held;
      }
    }
  }
  for (const auto& [reason, names] : skipped) {
    std::printf("skipped, %s:\n", reason.c_str());
    for (const std::string& name : names) std::printf("    %s\n", name.c_str());
  }
  std::printf("%d cases of %zu operators: %d outputs hold, in %d ways\n", cases, tested.size(), outputs,
              ways);
  tested.insert("Gelu");  // of opset 20, which Debian's cases do not have yet: onnx_reader_test.cc
  for (const std::string& op : known) EXPECT_TRUE(tested.contains(op)) << "no case tests " << op;
}

}  // namespace
}  // namespace lwsvm
