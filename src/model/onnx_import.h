// How one ONNX node becomes a layer. Private to onnx_*.cc.
//
// An operator is a function of NodeImport in the table of its group (onnx_import_*.cc): it asks for inputs,
// constants and attributes, and emits a layer. To support another operator, write its function and add a line
// to the table.
//
// Two nodes that make up one layer: the first sees that its only reader completes it and defers; the second
// finds the first through deferred() and emits for both.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/onnx_constant.h"
#include "model/onnx_names.h"
#include "net/graph.h"

namespace lwsvm {

// The largest per-sample value (1 GB), and the largest window, stride, padding, ...: far beyond any real
// network, and small enough that no product of ours overflows.
constexpr std::int64_t kLargestValue = std::int64_t{1} << 28;
constexpr std::int64_t kLargestAttribute = std::int64_t{1} << 15;

// What a name in the file stands for.
struct ImportedValue {
  int node = -1;                              // of the graph
  const onnx::TensorProto* tensor = nullptr;  // a constant of the file
  std::shared_ptr<const Constant> folded;     // a constant that was computed
  const onnx::NodeProto* deferred = nullptr;  // the first half of a layer

  bool is_constant() const { return tensor != nullptr || folded != nullptr; }
};

// Where a parameter of the graph comes from.
struct ImportedParameter {
  int node = -1;
  std::size_t parameter = 0;
  Origin origin;
};

struct ImportState {
  std::string file;  // for messages
  Graph graph;
  std::unordered_map<std::string, ImportedValue> values;
  std::unordered_map<std::string, std::vector<const onnx::NodeProto*>>
      readers;  // a reader twice if it reads twice
  std::string output;
  std::int64_t opset = 0;
  std::int64_t budget =
      0;  // bytes of constants that may still be decoded: bounds what a small file can ask for
  UniqueNames names;
  std::vector<ImportedParameter> parameters;
};

std::string shown(const onnx::NodeProto& node);  // "node 'conv1'"

class NodeImport {
 public:
  NodeImport(ImportState& state, const onnx::NodeProto& node) : state_(state), node_(node) {}

  const std::string& op() const { return node_.op_type(); }
  std::int64_t opset() const { return state_.opset; }

  // Inputs.
  int inputs() const { return node_.input_size(); }
  bool has_input(int i) const { return i < node_.input_size() && !node_.input(i).empty(); }
  void expect_inputs(int least, int most) const;
  bool is_constant(int i) const { return value(i).is_constant(); }
  int tensor(int i) const;           // the graph's node; fails if it is a constant
  std::vector<int> tensors() const;  // all inputs
  const Shape& shape(int i) const { return state_.graph.node(tensor(i)).shape; }  // of a sample
  Constant reals(int i) const;                      // fails if it is no constant of real numbers
  float real(int i) const;                          // of one element
  std::vector<std::int64_t> integers(int i) const;  // a short list
  bool is_real_constant(int i) const;
  // A constant that is broadcast to samples of this shape, as one value, one a channel or one an element.
  Constant spread(int i, const Shape& sample) const;
  std::vector<float> broadcast(int i, const Shape& sample) const { return spread(i, sample).reals; }

  // Attributes; what is absent is `otherwise`.
  bool has(const char* name) const { return find(name) != nullptr; }
  std::int64_t integer(const char* name, std::int64_t otherwise) const;
  float real(const char* name, float otherwise) const;
  std::string text(const char* name, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(const char* name, std::vector<std::int64_t> otherwise) const;
  const onnx::TensorProto* tensor_attribute(const char* name) const;

  // The result: one of these, once.
  using Parameters = std::vector<std::pair<std::string, Constant>>;
  void emit(const std::function<std::shared_ptr<const Layer>()>& make, std::vector<int> layer_inputs,
            const Parameters& parameters = {});
  void pass_on(int i);  // the output is the input
  void bind_constant(Constant constant);
  void defer();

  // The only reader of the output, if it is an `op` whose other operand is a constant.
  bool completed_by(const char* op) const;
  // The first half of this layer, if input i is one that is an `op`.
  std::optional<NodeImport> deferred(int i, const char* op) const;

  void bind(int output, ImportedValue value);
  std::string place() const;
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    lwsvm::fail("onnx", "{}: {}", place(), fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  const ImportedValue& value(int i) const;
  const onnx::AttributeProto* find(const char* name,
                                   std::optional<onnx::AttributeProto::AttributeType> type = {}) const;
  void charge(std::int64_t bytes) const;
  Constant decoded(int i) const;

  ImportState& state_;
  const onnx::NodeProto& node_;
};

struct OperatorImporter {
  const char* op;
  void (*import)(NodeImport&);
};

// Operators on weights, before they reach their layer: true if this node is one, and was imported.
bool import_weights(NodeImport& node);

std::span<const OperatorImporter> activation_importers();
std::span<const OperatorImporter> arithmetic_importers();
std::span<const OperatorImporter> linear_importers();
std::span<const OperatorImporter> pooling_importers();
std::span<const OperatorImporter> shape_importers();

// x W, deferred, and + b: one Dense layer with the MatMul's name.
void complete_matmul(NodeImport& product, NodeImport& sum, int bias_input);

// The window attributes of Conv and the pools, for an image of this shape (auto_pad depends on it).
struct WindowSpec;
WindowSpec read_window(const NodeImport& node, const Shape& image, const std::vector<std::int64_t>& kernel);

}  // namespace lwsvm
