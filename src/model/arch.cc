// From parsed architecture strings to graphs.
#include "model/arch.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>

#include "base/error.h"
#include "lwsvm/train.h"
#include "model/arch_parser.h"
#include "model/initialize.h"
#include "net/layers/activations.h"
#include "net/layers/arithmetic_layers.h"
#include "net/layers/batch_norm_layer.h"
#include "net/layers/convolution_layer.h"
#include "net/layers/dense_layer.h"
#include "net/layers/maximum_layer.h"
#include "net/layers/pooling_layers.h"
#include "net/layers/prelu_layer.h"
#include "net/layers/shape_layers.h"

namespace lwsvm {
namespace {

constexpr double kMaxParameters = 5e8;    // what fits into an ONNX file: 2 GB
constexpr double kMaxElements = 1 << 28;  // of one value of one sample

class Builder {
 public:
  Builder(Graph& graph, const std::string& text, std::int64_t divisor, bool biases)
      : graph_(graph), text_(text), divisor_(divisor), biases_(biases) {}

  int build(const ArchSequence& sequence, int input) {
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      item_ = &sequence[i];
      input = build_guarded(sequence, i, input);
    }
    return input;
  }

  int svm(int classes, int input) { return dense("svm", classes, biases_, input); }

 private:
  int dense(const std::string& name, std::int64_t outputs, bool bias, int input) {
    if (shape(input).size() != 1) input = add("flatten", std::make_shared<FlattenLayer>(), {input});
    const std::int64_t features = shape(input)[0];
    check_parameters(static_cast<double>(features) * static_cast<double>(outputs));
    return add(name, std::make_shared<DenseLayer>(features, outputs, bias), {input});
  }

  // Layers say "[net] ... (layer 'conv1')" of what they cannot take; here the token is the place.
  int build_guarded(const ArchSequence& sequence, std::size_t i, int input) {
    try {
      return build_item(sequence, i, input);
    } catch (const Error& error) {
      std::string problem = error.what();
      if (!problem.starts_with("[net] ")) throw;
      fail_item(problem.substr(6, problem.rfind(" (layer '") - 6));
    }
  }

  int build_item(const ArchSequence& sequence, std::size_t i, int input) {
    const ArchItem& item = sequence[i];
    const std::string& word = item.word;
    const bool before_bn = i + 1 < sequence.size() && sequence[i + 1].word == "bn";
    const bool bias = biases_ && !before_bn;  // bn's shift takes its place
    if (word == "conv") return convolution(item, widened(sequence, i), bias, input);
    if (word == "dense") return dense(next_name("dense"), widened(sequence, i), bias, input);
    if (word == "bn") return add("bn", std::make_shared<BatchNormLayer>(channels(input)), {input});
    if (word == "relu") return add("relu", std::make_shared<ReluLayer>(), {input});
    if (word == "relu6") return add("clip", std::make_shared<ClipLayer>(0.0f, 6.0f), {input});
    if (word == "leaky") return add("leaky", std::make_shared<LeakyReluLayer>(item.number), {input});
    if (word == "prelu") return add("prelu", std::make_shared<PReluLayer>(channels(input)), {input});
    if (word == "abs") return add("abs", std::make_shared<AbsLayer>(), {input});
    if (word == "pool") return add("pool", std::make_shared<MaxPoolLayer>(window(item, 0)), {input});
    if (word == "avgpool")
      return add("avgpool", std::make_shared<AveragePoolLayer>(window(item, 0), false), {input});
    if (word == "gap" || word == "gmp") {
      using Reduction = GlobalPoolLayer::Reduction;
      const auto reduction = word == "gap" ? Reduction::average : Reduction::maximum;
      return add(word, std::make_shared<GlobalPoolLayer>(reduction), {input});
    }
    if (word == "dropout") return add("dropout", std::make_shared<DropoutLayer>(item.number), {input});
    if (word == "maxout") return maxout(sequence, i, input);
    if (word == "res" || word == "respad") return residual(item, input);
    if (word == "inception") return inception(item, input);
    return input;  // id
  }

  int convolution(const ArchItem& item, std::int64_t outputs, bool bias, int input) {
    const Shape& image = shape(input);
    if (image.size() != 3)
      fail_item(fmt::format("convolutions take images, but {} features arrive here", image[0]));
    ConvolutionSpec spec;
    spec.in_channels = image[0];
    spec.out_channels = outputs;
    spec.groups = item.groups;
    spec.window = window(item, std::nullopt);
    spec.bias = bias;
    check_parameters(static_cast<double>(outputs) * static_cast<double>(image[0]) /
                     static_cast<double>(item.groups) *
                     static_cast<double>(item.height_taps * item.width_taps));
    return add("conv", std::make_shared<ConvolutionLayer>(spec), {input});
  }

  // maxoutK: the convolution or dense layer before it got K times its outputs, in K runs; the largest of them
  // stays.
  int maxout(const ArchSequence& sequence, std::size_t i, int input) {
    const ArchItem& item = sequence[i];
    std::size_t source = i;
    while (source > 0 && keeps_channels(sequence[source - 1])) --source;
    if (source == 0 || (sequence[source - 1].word != "conv" && sequence[source - 1].word != "dense"))
      fail_item("maxoutK follows a conv or dense layer, as conv12x5-maxout2");
    Shape start(shape(input).size(), 0), step(start.size(), 1), count = shape(input);
    count[0] /= item.width;
    std::vector<int> pieces;
    for (std::int64_t k = 0; k < item.width; ++k) {
      start[0] = k * count[0];
      pieces.push_back(add("slice", std::make_shared<SliceLayer>(start, step, count), {input}));
    }
    return add("max", std::make_shared<MaximumLayer>(), std::move(pieces));
  }

  // Outputs of the layer at i: as the string says, over the divisor, times K if a maxoutK follows.
  std::int64_t widened(const ArchSequence& sequence, std::size_t i) const {
    const std::int64_t outputs = divided(sequence[i].width);
    for (++i; i < sequence.size() && keeps_channels(sequence[i]);) ++i;
    return i < sequence.size() && sequence[i].word == "maxout" ? outputs * sequence[i].width : outputs;
  }

  static bool keeps_channels(const ArchItem& item) { return item.word == "bn" || item.word == "dropout"; }

  int residual(const ArchItem& item, int input) {
    const int branch = build(item.branches[0], input);
    item_ = &item;
    const Shape &from = shape(input), &to = shape(branch);
    int shortcut = input;
    if (from != to) {
      if (from.size() != 3 || to.size() != 3)
        fail_item(fmt::format("a shortcut cannot lead from {} to {}", to_string(from), to_string(to)));
      shortcut = item.word == "res" ? project(input, from, to) : subsample_and_pad(input, from, to);
    }
    return add("add", std::make_shared<AddLayer>(), {branch, shortcut});
  }

  static std::int64_t stride_between(std::int64_t from, std::int64_t to) { return (from + to - 1) / to; }

  // Option B of [HZRS16]: a convolution of 1x1 with the branch's stride.
  int project(int input, Shape from, Shape to) {
    ConvolutionSpec spec;
    spec.in_channels = from[0];
    spec.out_channels = to[0];
    spec.bias = biases_;
    spec.window.stride_height = stride_between(from[1], to[1]);
    spec.window.stride_width = stride_between(from[2], to[2]);
    check_parameters(static_cast<double>(from[0]) * static_cast<double>(to[0]));
    return add("project", std::make_shared<ConvolutionLayer>(spec), {input});
  }

  // Option A of [HZRS16]: every second pixel, and channels of zeros on both sides. No parameters.
  int subsample_and_pad(int input, Shape from, Shape to) {
    const Shape step{1, stride_between(from[1], to[1]), stride_between(from[2], to[2])};
    int shortcut = input;
    if (from[1] != to[1] || from[2] != to[2]) {
      const Shape count{from[0], to[1], to[2]};
      shortcut = add("slice", std::make_shared<SliceLayer>(Shape{0, 0, 0}, step, count), {shortcut});
    }
    if (to[0] < from[0])
      fail_item(fmt::format("respad cannot take away channels ({} to {}); use res", from[0], to[0]));
    if (to[0] == from[0]) return shortcut;
    const std::int64_t before = (to[0] - from[0]) / 2, after = to[0] - from[0] - before;
    return add("pad", std::make_shared<PadLayer>(Shape{before, 0, 0}, Shape{after, 0, 0}, 0.0f), {shortcut});
  }

  int inception(const ArchItem& item, int input) {
    std::vector<int> branches;
    for (const ArchSequence& branch : item.branches) branches.push_back(build(branch, input));
    item_ = &item;
    if (branches.size() == 1) return branches[0];
    return add("concat", std::make_shared<ConcatLayer>(0), std::move(branches));
  }

  // Without `padding` the image keeps its size (over the stride, rounded up); an odd pixel goes after it.
  static WindowSpec window(const ArchItem& item, std::optional<std::int64_t> padding) {
    WindowSpec w;
    w.height = item.height_taps;
    w.width = item.width_taps;
    w.stride_height = w.stride_width = item.stride;
    w.dilation_height = w.dilation_width = item.dilation;
    if (item.padding) padding = item.padding;
    const std::int64_t rows = item.dilation * (w.height - 1), columns = item.dilation * (w.width - 1);
    w.pad_top = padding.value_or(rows / 2);
    w.pad_bottom = padding.value_or(rows - rows / 2);
    w.pad_left = padding.value_or(columns / 2);
    w.pad_right = padding.value_or(columns - columns / 2);
    return w;
  }

  int add(const std::string& kind, std::shared_ptr<const Layer> layer, std::vector<int> inputs) {
    const bool numbered = std::any_of(kind.begin(), kind.end(), [](char c) { return c >= '0' && c <= '9'; });
    const std::string name = numbered || kind == "svm" ? kind : next_name(kind);
    const int node = graph_.add(name, std::move(layer), std::move(inputs));
    double elements = 1;
    for (std::int64_t size : shape(node)) elements *= static_cast<double>(size);
    if (elements > kMaxElements) fail_item(fmt::format("its output {} is too large", to_string(shape(node))));
    return node;
  }

  void check_parameters(double count) {
    if (count + static_cast<double>(graph_.parameters().size()) > kMaxParameters)
      fail_item(fmt::format("the network would have more than {:.0f} parameters", kMaxParameters));
  }

  [[noreturn]] void fail_item(const std::string& problem) const {
    if (item_ == nullptr) fail("arch", "{}: {}", text_, problem);
    fail_at(text_, item_->begin, item_->length, problem);
  }

  std::string next_name(const std::string& kind) { return fmt::format("{}{}", kind, ++counts_[kind]); }
  const Shape& shape(int node) const { return graph_.node(node).shape; }
  std::int64_t channels(int node) const { return shape(node)[0]; }
  std::int64_t divided(std::int64_t width) const { return std::max<std::int64_t>(1, width / divisor_); }

  Graph& graph_;
  const std::string& text_;
  std::int64_t divisor_;
  bool biases_;
  const ArchItem* item_ = nullptr;  // being built, for messages
  std::map<std::string, int> counts_;
};

std::string resnet20_text() {
  std::string text = "conv16x3-bn-relu";
  for (int width : {16, 32, 64})
    for (int block = 0; block < 3; ++block)
      text += fmt::format("-respad(conv{0}x3{1}-bn-relu-conv{0}x3-bn)-relu", width,
                          width > 16 && block == 0 ? "s2" : "");
  return text + "-gap";
}

std::string vgg16_text() {
  std::string text;
  const std::pair<int, int> stages[] = {{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}};
  for (const auto& [width, layers] : stages) {
    for (int layer = 0; layer < layers; ++layer) text += fmt::format("conv{}x3-relu-", width);
    text += "pool2-";
  }
  return text + "dense4096-relu-dense4096-relu";
}

constexpr std::string_view kWithoutBiases = "nobias:";

// "cifar/4" -> the text of cifar and 4; a string of the grammar -> itself and 1.
std::pair<std::string, std::int64_t> look_up(const std::string& arch) {
  const std::size_t slash = arch.find('/');
  const std::string name = arch.substr(0, slash);
  std::int64_t divisor = 1;
  if (slash != std::string::npos) {
    const char* end = arch.data() + arch.size();
    const auto [stop, error] = std::from_chars(arch.data() + slash + 1, end, divisor);
    if (error != std::errc() || stop != end || divisor < 1)
      fail_at(arch, slash, arch.size() - slash,
              "NAME/K divides the widths of a built-in network by K, as cifar/4");
  }
  for (const BuiltInArch& built_in : built_in_archs())
    if (built_in.name == name) return {built_in.text, divisor};
  if (slash != std::string::npos) {
    std::vector<std::string> names;
    for (const BuiltInArch& built_in : built_in_archs()) names.push_back(built_in.name);
    fail_at(arch, 0, slash, fmt::format("'{}' is no built-in network ({})", name, fmt::join(names, ", ")));
  }
  return {arch, 1};
}

}  // namespace

const std::vector<BuiltInArch>& built_in_archs() {
  static const std::vector<BuiltInArch> archs{
      {"mnist", "conv12x5-relu-pool2-conv12x5-relu-pool2-dense256-relu", "the paper's network for MNIST"},
      {"cifar",
       "conv64x3-bn-relu-conv64x3-bn-relu-pool2-conv128x3-bn-relu-conv128x3-bn-relu-pool2-"
       "conv256x3-bn-relu-conv256x3-bn-relu-pool2",
       "the paper's network for CIFAR"},
      {"cifar-plain",
       "conv64x3-relu-conv64x3-relu-pool2-conv128x3-relu-conv128x3-relu-pool2-"
       "conv256x3-relu-conv256x3-relu-pool2",
       "the same without batch normalisation"},
      {"resnet20", resnet20_text(), "ResNet-20 for CIFAR, shortcuts without parameters"},
      {"vgg16", vgg16_text(), "VGG-16 [SZ15], for images of 224 x 224"}};
  return archs;
}

Graph build_network(const std::string& arch, const Shape& input, int classes, const std::vector<float>& mean,
                    const std::vector<float>& deviation, std::uint64_t seed) {
  if (input.empty() ||
      std::any_of(input.begin(), input.end(), [](auto size) { return size < 1 || size > 1 << 20; }))
    fail("arch", "a network cannot take inputs of shape {}", to_string(input));
  if (classes < 2) fail("arch", "a network needs at least two classes, not {}", classes);
  const bool biases = !arch.starts_with(kWithoutBiases);
  const auto [text, divisor] = look_up(biases ? arch : arch.substr(kWithoutBiases.size()));
  const ArchSequence sequence = parse_arch(text);

  Graph graph;
  const int pixels = graph.add_input("input", input);
  const int normal = graph.add("normalize", std::make_shared<NormalizeLayer>(mean, deviation), {pixels});
  Builder builder(graph, text, divisor, biases);
  const int features = builder.build(sequence, normal);
  graph.set_output(builder.svm(classes, features));
  initialize_parameters(graph, seed);
  return graph;
}

std::string arch_grammar() {
  std::string text = R"(NETWORK is a built-in name or layers joined by '-'; the SVM layer is added at the end.

nobias:NETWORK is the same with no bias in any layer, the SVM layer included.

built-in    NAME, or NAME/K with all widths divided by K (cifar/4)
)";
  for (const BuiltInArch& arch : built_in_archs())
    text += fmt::format("  {:<12}{}\n", arch.name, arch.description);
  return text + R"(
layers
  convOxK     O outputs, windows of K x K (convOxHxW: H x W); options follow, as conv64x3s2p1:
                sS stride S, pP padding P on every side (default: keeps the size), dD dilation D, gG groups G
  bn          batch normalisation; a conv or dense layer right before it has no bias
  denseN      N outputs, of all inputs
  relu, relu6, abs, prelu (a trained slope per channel), leakyS (slope S, as leaky0.1)
  maxoutK     the largest of K: the conv or dense layer before it gets K times its outputs (conv12x5-maxout2)
  poolK       max-pool, windows of K x K; options sS (default: K) and pP (default: 0)
  avgpoolK    average pool, the same options
  gap, gmp    average, maximum over the whole image
  dropoutR    rate R, in training only (dropout0.5)
  id          nothing, as a branch of inception

blocks
  res(...)          x + f(x), f the layers within; where shapes differ x goes through a convolution of 1x1
  respad(...)       the same; where shapes differ x is subsampled and padded with channels of zeros
  inception(a|b|c)  the outputs of the branches a, b, c, ..., joined along the channels

example       conv12x5-relu-pool2-conv12x5-relu-pool2-dense256-relu      (this is mnist)
)";
}

}  // namespace lwsvm
