// A network: read from an ONNX file, changed by train() and refine(), written to an ONNX file.
//
// A file of another program comes back as it was, with only the changed weights replaced; weights are always
// such as the file can hold, float16 included.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lwsvm {

struct LayerInfo {
  std::string name;     // as refine takes it
  std::string kind;     // "Conv", "Gemm", "Relu", ...; "Input" of what goes in
  std::string details;  // "5x5 pad 2"; may be empty
  std::vector<std::int64_t> output_shape;
  std::int64_t parameters = 0;
  bool has_weights = false;
  std::string why_not_refinable;       // of a layer with weights; empty: it can be refined
  std::vector<std::string> tensors{};  // of the file, that its weights and biases are read from
};

// A tensor of the file, row-major.
struct StoredArray {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;  // float64 rounded, the others exactly
};

// A handle: copies are cheap, and changing one leaves the others as they are.
class Network {
 public:
  Network() = default;  // empty: train() builds one
  // `output_name` says which output holds the scores, where a file has several; height and width, how large
  // images are, where a file leaves that free (0: as it was trained if it says so, else 224).
  static Network load(const std::string& path, const std::string& output_name = "", int height = 0,
                      int width = 0);

  // An ONNX file in memory; `name` is for messages.
  static Network from_bytes(std::string_view bytes, const std::string& output_name = "",
                            const std::string& name = "network");

  bool empty() const { return state_ == nullptr; }
  void save(const std::string& path) const;  // whole or not at all
  std::string to_bytes() const;              // what save() writes

  std::vector<LayerInfo> layers() const;
  std::int64_t parameters() const;
  int classes() const;
  std::vector<std::int64_t> input_shape() const;
  std::vector<float> weights(const std::string& layer) const;  // its weights, then its biases
  std::vector<StoredArray> tensors() const;  // the file's initialisers that hold real numbers, by name

  std::string arch() const;                             // what it was built from; empty: not known
  std::string data() const;                             // what it was trained on; empty: not known
  std::string producer() const;                         // the program that wrote its file
  std::optional<double> lambda() const;                 // weight of the regulariser that it was trained with
  std::vector<std::string> class_names() const;         // one per class; empty: not known
  std::vector<std::string> notes() const;               // what its user should know about its file
  std::map<std::string, std::string> metadata() const;  // whatever else the file says
  void set_metadata(const std::string& key, const std::string& value);

  struct State;  // for the library itself
  explicit Network(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  const State& state() const;  // throws Error if it is empty

 private:
  std::shared_ptr<const State> state_;
};

}  // namespace lwsvm
