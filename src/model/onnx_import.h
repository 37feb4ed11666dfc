// How one ONNX node becomes a layer. Private to onnx_*.cc.
//
// An operator is a function of NodeImport in the table of its group (onnx_import_*.cc): it asks for inputs,
// constants and attributes, and emits a layer. To support another operator, write its function and add a line
// to the table.
//
// Two nodes that make up one layer: the first sees that its only reader completes it and defers; the second
// finds the first through deferred() and emits for both.
//
// The file counts the batch as an axis, layers do not. Where it lies is known for every value: first, unless
// a Transpose moved it; nowhere, if it is fixed to 1 and was squeezed away. A node that would mix the samples
// of a batch is refused.
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
#include "model/onnx_indices.h"
#include "model/onnx_names.h"
#include "net/graph.h"

namespace lwsvm {

// The largest per-sample value (1 GB), and the largest window, stride, padding, ...: far beyond any real
// network, and small enough that no product of ours overflows.
constexpr std::int64_t kLargestValue = std::int64_t{1} << 28;
constexpr std::int64_t kLargestAttribute = std::int64_t{1} << 15;

// Stands for the size of the batch in shapes that the file computes: no size, and no number that anybody
// writes.
constexpr std::int64_t kBatchSize = -(std::int64_t{1} << 61) - 20170417;

// What a name in the file stands for.
struct ImportedValue {
  int node = -1;                              // of the graph
  int batch_axis = 0;                         // of a node; -1: none
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
  std::optional<std::int64_t> fixed_batch;  // the batch size that the file was exported for, if not any
  std::int64_t budget =
      0;  // bytes of constants that may still be decoded: bounds what a small file can ask for
  UniqueNames names;
  std::vector<ImportedParameter> parameters;

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {  // of the file as a whole
    lwsvm::fail("onnx", "{}: {}", file, fmt::format(text, std::forward<Args>(args)...));
  }
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
  void expect_inputs(int min, int max) const;
  bool is_constant(int i) const { return value(i).is_constant(); }
  bool is_computed(int i) const;     // a value of the graph that is there already
  bool is_foldable(int i) const;     // a constant, or nothing
  int tensor(int i) const;           // the graph's node; fails if it is a constant
  std::vector<int> tensors() const;  // all inputs
  const Shape& shape(int i) const { return state_.graph.node(tensor(i)).shape; }  // of a sample
  const Shape& shape_of(int value) const { return state_.graph.node(value).shape; }
  Constant constant(int i) const;                   // fails if it is none
  Constant reals(int i) const;                      // ... or not of real numbers
  float real(int i) const;                          // of one element
  std::vector<std::int64_t> integers(int i) const;  // a short list
  std::vector<std::int64_t> sizes(int i) const;     // the same; may hold kBatchSize
  bool is_real_constant(int i) const;
  // A constant that is broadcast to samples of this shape, as one value, one per channel or one per element.
  Constant spread(int i, const Shape& sample, int batch_axis = 0) const;
  std::vector<float> broadcast(int i, const Shape& sample, int batch_axis = 0) const {
    return spread(i, sample, batch_axis).reals;
  }

  // Axes as the file counts them, with the batch.
  int batch_axis(int i) const { return computed(i).batch_axis; }
  bool batch_is_one() const { return state_.fixed_batch == 1; }
  std::int64_t rank(int i) const { return std::ssize(shape(i)) + (batch_axis(i) >= 0); }
  Shape full_shape(int i) const;                                   // kBatchSize where the batch is
  std::int64_t axis(std::int64_t given, std::int64_t rank) const;  // 0..rank-1; fails if there is none
  std::size_t sample_axis(int i, std::int64_t given) const;        // ... of shape(i); fails on the batch
  void expect_batch_first(int i) const;

  // Attributes; what is absent is `otherwise`.
  bool has(const char* name) const { return find(name) != nullptr; }
  std::int64_t integer(const char* name, std::int64_t otherwise) const;
  float real(const char* name, float otherwise) const;
  std::string text(const char* name, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(const char* name, std::vector<std::int64_t> otherwise) const;
  std::vector<float> reals(const char* name) const;
  const onnx::TensorProto* tensor_attribute(const char* name) const;

  // The result: one of these, once.
  using Parameters = std::vector<std::pair<std::string, Constant>>;
  using Make = std::function<std::shared_ptr<const Layer>()>;
  // The batch stays where it was in the first computed input, unless told.
  void emit(const Make& make, std::vector<int> layer_inputs, const Parameters& parameters = {},
            std::optional<int> batch_axis = {});
  // No result yet. The layer is named after the node, and `suffix`: the one with the weights has none.
  int add(const Make& make, std::vector<int> layer_inputs, const Parameters& parameters = {},
          const char* suffix = "");
  void emit_node(int node, int batch_axis, int output = 0);
  void pass_on(int i);  // the output is the input
  void bind_constant(Constant constant);
  void defer();

  // The only reader of the output, if it is an `op` whose other operand is a constant.
  bool completed_by(const char* op) const;
  // The first half of this layer, if input i is one that is an `op`.
  std::optional<NodeImport> deferred(int i, const char* op) const;

  void bind(int output, ImportedValue value);
  const ImportedValue& value(int i) const;
  int outputs() const { return node_.output_size(); }
  bool has_output(int k) const { return k < node_.output_size() && !node_.output(k).empty(); }
  void charge(std::int64_t bytes) const;  // to the file's budget
  std::int64_t fixed_batch() const { return state_.fixed_batch.value_or(0); }
  std::string place() const;
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    lwsvm::fail("onnx", "{}: {}", place(), fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  const ImportedValue& computed(int i) const;
  const onnx::AttributeProto* find(const char* name,
                                   std::optional<onnx::AttributeProto::AttributeType> type = {}) const;

  ImportState& state_;
  const onnx::NodeProto& node_;
};

struct OperatorImporter {
  const char* op;
  void (*import)(NodeImport&);
};

std::span<const OperatorImporter> activation_importers();
std::span<const OperatorImporter> arithmetic_importers();
std::span<const OperatorImporter> axis_importers();
std::span<const OperatorImporter> frozen_importers();
std::span<const OperatorImporter> linear_importers();
std::span<const OperatorImporter> pooling_importers();
std::span<const OperatorImporter> resize_importers();
std::span<const OperatorImporter> shape_importers();

// Computes the node if it reads nothing but constants (or asks for a shape); false if it is none such.
bool fold(NodeImport& node);
std::vector<std::string> foldable_operators();

// The axes that these operators name, for constants and computed values alike. `full` counts the batch.
std::vector<std::size_t> transpose_order(const NodeImport& node, std::size_t rank);
std::vector<bool> squeezed_axes(const NodeImport& node, const Shape& full);
std::vector<std::int64_t> unsqueezed_axes(const NodeImport& node,
                                          std::int64_t rank);  // of the result, sorted
SliceRange read_slice(const NodeImport& node, const Shape& full);

// scale x + offset, as a node without a name in the file.
int add_affine(NodeImport& node, int value, std::vector<float> scale, std::vector<float> offset);

// A value of this shape seen as `from`, whose axes of 1 are repeated to those of `to`.
int add_repeated(NodeImport& node, int value, const Shape& shape, const Shape& from, const Shape& to);

// Operators of images on one spatial axis: {channels, length} seen as an image of one row, and its result
// seen as {channels, length} again.
Shape as_image(const Shape& sample);
int add_as_image(NodeImport& node, int i);
void emit_from_image(NodeImport& node, int value);

// x W, deferred, and + b: one Dense layer with the MatMul's name.
void complete_matmul(NodeImport& product, NodeImport& sum, int bias_input);

// The window attributes of Conv and the pools, for an image of this shape (auto_pad depends on it), or for
// {channels, length}: a window of one row.
struct WindowSpec;
WindowSpec read_window(const NodeImport& node, const Shape& image, const std::vector<std::int64_t>& kernel);

}  // namespace lwsvm
