// Small files in the styles of several exporters, in each of which one layer's weights take another way from
// the file into the layer.
#pragma once

#include <Eigen/Core>

#include "model/foreign_file.h"
#include "model/graphs.h"

namespace lwsvm {

struct ForeignCase {
  std::string name;
  onnx::ModelProto proto;
  std::string layer;                 // that is changed
  std::vector<std::string> tensors;  // that hold its weights
};

// Converts a tensor of float32 values, to another type and to raw_data or the typed field.
inline void convert(onnx::TensorProto& tensor, int type, bool raw) {
  const std::vector<float> values(tensor.float_data().begin(), tensor.float_data().end());
  tensor.clear_float_data();
  tensor.set_data_type(type);
  std::string bytes;
  const auto add = [&](auto number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); };
  for (float value : values) {
    const auto half = Eigen::numext::bit_cast<std::uint16_t>(Eigen::half(value));
    const auto brain = Eigen::numext::bit_cast<std::uint16_t>(Eigen::bfloat16(value));
    switch (type) {
      case onnx::TensorProto::FLOAT:
        raw ? add(value) : tensor.add_float_data(value);
        break;
      case onnx::TensorProto::DOUBLE:
        raw ? add(double(value)) : tensor.add_double_data(double(value));
        break;
      case onnx::TensorProto::FLOAT16:
        raw ? add(half) : tensor.add_int32_data(half);
        break;
      default:
        raw ? add(brain) : tensor.add_int32_data(brain);
    }
  }
  if (raw) tensor.set_raw_data(bytes);
}

class CaseMaker {
 public:
  std::vector<ForeignCase> all() {
    dense_styles();
    convolution_styles();
    operators_on_weights();
    types();
    frozen_fronts();
    rows_and_transposed();
    return std::move(cases_);
  }

 private:
  using Attributes = std::vector<std::pair<const char*, float>>;

  // What an exporter leaves in a file beside the network itself.
  void add(const std::string& name, File& file, const std::string& layer,
           const std::vector<std::string>& tensors) {
    onnx::ModelProto& proto = file.model();
    proto.set_producer_name("another program");
    proto.set_producer_version("1.2.3");
    proto.set_doc_string("kept");
    auto& entry = *proto.add_metadata_props();
    entry.set_key("author");
    entry.set_value("somebody");
    proto.mutable_graph()->set_name("torch-jit-export");
    proto.mutable_graph()->mutable_node(0)->set_doc_string("line 7");
    file.floats("nobody_reads_this", {3});
    cases_.push_back({name, proto, layer, tensors});
  }

  std::vector<float> numbers(const Shape& dims) {
    return random_floats(static_cast<std::size_t>(element_count(dims)), -1, 1, ++seed_);
  }
  onnx::TensorProto& weights(File& file, const std::string& name, const Shape& dims) {
    return file.floats(name, dims, numbers(dims));
  }

  void gemm(const std::string& name, const Shape& w, const Shape& b, bool transposed,
            const Attributes& factors) {
    File file;
    weights(file, "fc.weight", w);
    weights(file, "fc.bias", b);
    onnx::NodeProto& node = file.node("Gemm", {"x", "fc.weight", "fc.bias"}, "scores");
    if (transposed) File::set(node, "transB", 1);
    for (const auto& [key, value] : factors) File::set(node, key, value);
    file.node("Softmax", {"scores"});
    add(name, file, node.name(), {"fc.weight", "fc.bias"});
  }

  void dense_styles() {
    gemm("pytorch", {2, 4}, {2}, true, {});
    gemm("gemm_plain", {4, 2}, {1, 2}, false, {});
    gemm("gemm_factors", {4, 2}, {2}, false, {{"alpha", 3.0f}, {"beta", 0.7f}});
    gemm("gemm_negative", {2, 4}, {2}, true, {{"alpha", -1.0f}, {"beta", -0.1f}});
    File keras;
    weights(keras, "dense/kernel:0", {4, 2});
    weights(keras, "dense/bias:0", {2});
    keras.node("MatMul", {"x", "dense/kernel:0"}, "product");
    keras.node("Add", {"product", "dense/bias:0"});
    add("keras", keras, "MatMul_1", {"dense/kernel:0", "dense/bias:0"});
    File bare;
    weights(bare, "w", {4, 2});
    bare.node("MatMul", {"x", "w"});
    add("no_bias", bare, "MatMul_1", {"w"});
    File constant;
    onnx::NodeProto& node = constant.node("Constant", {}, "w");
    onnx::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnx::AttributeProto::TENSOR);
    value.mutable_t()->set_name("inside");
    File::fill(*value.mutable_t(), {4, 2}, numbers({4, 2}));
    constant.node("MatMul", {"x", "w"});
    add("constant_node", constant, "MatMul_2", {"inside"});
  }

  void convolution_styles() {
    for (bool bias : {false, true}) {
      File file({0, 2, 4, 3}, 13, {0, 3, 3, 2});
      weights(file, "conv.weight", {3, 2, 2, 2});
      std::vector<std::string> inputs{"x", "conv.weight"}, tensors{"conv.weight"};
      if (bias) {
        weights(file, "conv.bias", {3});
        inputs.emplace_back("conv.bias");
        tensors.emplace_back("conv.bias");
      }
      file.node("Conv", inputs);
      add(bias ? "conv" : "conv_no_bias", file, "Conv_1", tensors);
    }
  }

  // Weights of shape `stored` that an operator makes into a matrix for MatMul.
  void weights_through(const std::string& name, const Shape& stored,
                       const std::vector<std::int64_t>& parameter = {}) {
    File file;
    weights(file, "w", stored);
    std::vector<std::string> inputs{"w"};
    if (name == "Reshape" || name == "Squeeze" || name == "Unsqueeze") {
      file.integers("how", parameter);
      inputs.emplace_back("how");
    }
    if (name == "Mul") {
      file.floats("how", {}, {0.3f});
      inputs.emplace_back("how");
    }
    onnx::NodeProto& node = file.node(name, inputs, "matrix");
    if (name == "Flatten") File::set(node, "axis", 2);
    if (name == "Cast") File::set(node, "to", int{onnx::TensorProto::FLOAT16});
    std::string matrix = "matrix";
    if (name == "Cast") {
      File::set(file.node("Cast", {"matrix"}, "wide"), "to", int{onnx::TensorProto::FLOAT});
      matrix = "wide";
    }
    const std::string layer = file.node("MatMul", {"x", matrix}).name();
    add("weights_through_" + name, file, layer, {"w"});
  }

  void operators_on_weights() {
    weights_through("Transpose", {2, 4});
    weights_through("Reshape", {2, 2, 2}, {4, -1});
    weights_through("Flatten", {2, 2, 2});
    weights_through("Squeeze", {4, 1, 2}, {1});
    weights_through("Unsqueeze", {4, 2}, {});
    weights_through("Identity", {4, 2});
    weights_through("Cast", {4, 2});
    weights_through("Neg", {4, 2});
    weights_through("Mul", {4, 2});
    File chain({0, 2, 3, 3}, 13, {0, 5, 2, 2});  // TensorFlow: [height][width][in][out]
    weights(chain, "kernel", {2, 2, 2, 5});
    chain.node("Identity", {"kernel"}, "read");
    File::set(chain.node("Transpose", {"read"}, "w"), "perm", std::vector<std::int64_t>{3, 2, 0, 1});
    chain.node("Conv", {"x", "w"});
    add("tensorflow", chain, "Conv_3", {"kernel"});
  }

  void types() {
    using onnx::TensorProto;
    const std::vector<std::pair<std::string, int>> every{{"float32", TensorProto::FLOAT},
                                                         {"float64", TensorProto::DOUBLE},
                                                         {"float16", TensorProto::FLOAT16},
                                                         {"bfloat16", TensorProto::BFLOAT16}};
    for (const auto& [name, type] : every)
      for (bool raw : {false, true}) {
        File file;
        for (const auto& [tensor, dims] : {std::pair<const char*, Shape>{"w", {4, 2}}, {"b", {2}}}) {
          convert(weights(file, tensor, dims), type, raw);
          File::set(file.node("Cast", {tensor}, std::string(tensor) + "32"), "to", int{TensorProto::FLOAT});
        }
        const std::string layer = file.node("Gemm", {"x", "w32", "b32"}).name();
        add(name + (raw ? "_raw" : "_typed"), file, layer, {"w", "b"});
      }
  }

  // The last layer, on the value `from` of this many numbers.
  void classify(const std::string& name, File& file, const std::string& from, std::int64_t features) {
    weights(file, "fc.weight", {features, 2});
    file.node("Flatten", {from}, "flat");
    add(name, file, file.node("MatMul", {"flat", "fc.weight"}).name(), {"fc.weight"});
  }

  // What cannot be refined itself, in front of what can.
  void frozen_fronts() {
    using Integers = std::vector<std::int64_t>;
    File gate({0, 2, 4, 3});  // squeeze and excitation
    gate.node("GlobalAveragePool", {"x"}, "mean");
    gate.node("Sigmoid", {"mean"}, "gate");
    gate.node("Mul", {"gate", "x"}, "gated");
    classify("gate", gate, "gated", 24);

    File gelu;
    gelu.floats("root", {}, {1.41421356f});
    gelu.floats("one", {}, {1.0f});
    gelu.floats("half", {}, {0.5f});
    gelu.node("Div", {"x", "root"}, "a");
    gelu.node("Erf", {"a"}, "b");
    gelu.node("Add", {"b", "one"}, "c");
    gelu.node("Mul", {"x", "c"}, "d");
    gelu.node("Mul", {"d", "half"}, "e");
    classify("gelu", gelu, "e", 4);

    File norm({0, 3, 5});  // layer normalisation as PyTorch wrote it before opset 17
    norm.floats("two", {}, {2.0f});
    norm.floats("epsilon", {}, {1e-5f});
    weights(norm, "scale", {5});
    weights(norm, "offset", {5});
    File::set(norm.node("ReduceMean", {"x"}, "mean"), "axes", Integers{-1});
    norm.node("Sub", {"x", "mean"}, "centred");
    norm.node("Pow", {"centred", "two"}, "squares");
    File::set(norm.node("ReduceMean", {"squares"}, "variance"), "axes", Integers{-1});
    norm.node("Add", {"variance", "epsilon"}, "above");
    norm.node("Sqrt", {"above"}, "deviation");
    norm.node("Div", {"centred", "deviation"}, "standard");
    norm.node("Mul", {"standard", "scale"}, "scaled");
    norm.node("Add", {"scaled", "offset"}, "normed");
    classify("layer_norm", norm, "normed", 15);

    File instance({0, 2, 4, 3});
    weights(instance, "scale", {2});
    weights(instance, "offset", {2});
    instance.node("InstanceNormalization", {"x", "scale", "offset"}, "normed");
    instance.node("Elu", {"normed"}, "elu");
    instance.node("Softplus", {"elu"}, "plus");
    File::set(instance.node("ReduceMax", {"plus"}, "most"), "axes", Integers{2});
    classify("instance_norm", instance, "most", 6);

    File sizes({0, 4, 2, 3});
    sizes.floats("roi", {0}, {});
    sizes.graph().mutable_initializer(0)->clear_float_data();
    sizes.floats("factors", {4}, {1, 1, 2, 2});
    onnx::NodeProto& nearest = sizes.node("Resize", {"x", "roi", "factors"}, "larger");
    File::set(nearest, "coordinate_transformation_mode", "asymmetric");
    File::set(nearest, "nearest_mode", "floor");
    sizes.floats("between", {4}, {1, 1, 1.5f, 0.5f});
    File::set(sizes.node("Resize", {"larger", "roi", "between"}, "other"), "mode", "linear");
    File::set(sizes.node("DepthToSpace", {"other"}, "wide"), "blocksize", 2);
    classify("sizes", sizes, "wide", 72);
  }

  void rows_and_transposed() {
    using Integers = std::vector<std::int64_t>;
    File rows({0, 2, 7}, 13, {0, 3, 4});
    weights(rows, "w", {3, 2, 3});
    weights(rows, "b", {3});
    File::set(rows.node("Conv", {"x", "w", "b"}, "conv"), "pads", Integers{1, 2});
    onnx::NodeProto& pool = rows.node("MaxPool", {"conv"});
    File::set(pool, "kernel_shape", Integers{2});
    File::set(pool, "strides", Integers{2});
    add("rows", rows, "Conv_1", {"w", "b"});

    File transposed({0, 4, 3, 2}, 13, {0, 6, 7, 4});
    weights(transposed, "w", {4, 3, 3, 2});
    weights(transposed, "b", {6});
    onnx::NodeProto& node = transposed.node("ConvTranspose", {"x", "w", "b"});
    File::set(node, "strides", Integers{2, 3});
    File::set(node, "pads", Integers{1, 1, 0, 0});
    File::set(node, "output_padding", Integers{1, 0});
    File::set(node, "group", 2);
    add("transposed", transposed, "ConvTranspose_1", {"w", "b"});
  }

  std::vector<ForeignCase> cases_;
  std::uint64_t seed_ = 0;
};

inline std::vector<ForeignCase> foreign_cases() {
  return CaseMaker().all();
}

}  // namespace lwsvm
