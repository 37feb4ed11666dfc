#include "lwsvm/model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/own_samples.h"
#include "lwsvm/error.h"
#include "lwsvm/inspect.h"
#include "lwsvm/train.h"
#include "temporary_folder.h"

namespace lwsvm {
namespace {

Network small_network() {
  Network network;
  train(network, bars(), {.arch = kSmallNet, .epochs = 1});
  return network;
}

TEST(Network, TellsItsLayers) {
  const Network network = small_network();
  std::int64_t parameters = 0;
  int refinable = 0;
  for (const LayerInfo& layer : network.layers()) {
    parameters += layer.parameters;
    if (!layer.has_weights) continue;
    EXPECT_EQ(std::ssize(network.weights(layer.name)), layer.parameters) << layer.name;
    refinable += layer.why_not_refinable.empty();
  }
  EXPECT_EQ(parameters, network.parameters());
  EXPECT_EQ(refinable, 3);  // convolution, dense layer, SVM layer
  EXPECT_EQ(network.classes(), 3);
  EXPECT_EQ(network.input_shape(), (std::vector<std::int64_t>{1, 6, 6}));
  EXPECT_EQ(network.arch(), kSmallNet);
  EXPECT_EQ(network.data(), "samples");
  EXPECT_THROW(network.weights("no such layer"), Error);
}

TEST(Network, IsTheSameAfterSavingAndLoading) {
  const TemporaryFolder folder;
  Network network = small_network();
  network.set_metadata("author", "somebody");
  network.save((folder / "net.onnx").string());
  const Network again = Network::load((folder / "net.onnx").string());
  EXPECT_EQ(again.metadata(), network.metadata());
  EXPECT_EQ(again.metadata().at("author"), "somebody");
  EXPECT_EQ(again.lambda(), network.lambda());
  for (const LayerInfo& layer : network.layers())
    if (layer.has_weights) {
      EXPECT_EQ(again.weights(layer.name), network.weights(layer.name));
    }
}

TEST(Inspect, TellsTheLayersAndWhatTheyTake) {
  const Network network = small_network();
  const Inspection found = inspect(network, {.samples = 1000});
  const std::vector<LayerInfo> layers = network.layers();
  ASSERT_EQ(found.layers.size(), layers.size());
  std::int64_t flops = 0;
  int refinable = 0;
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const InspectedLayer& layer = found.layers[i];
    EXPECT_EQ(layer.info.name, layers[i].name);
    if (i > 0) {
      EXPECT_EQ(layer.inputs, std::vector<std::string>{layers[i - 1].name});  // it is a chain
    }
    flops += layer.flops;
    if (!layer.memory) continue;
    ++refinable;
    const OpenLayerMemory& memory = *layer.memory;
    EXPECT_EQ(memory.total, memory.inputs + memory.patterns + memory.slopes + memory.dual + memory.weights);
    largest = std::max(largest, memory.total);
  }
  EXPECT_EQ(found.refinable, refinable);
  EXPECT_EQ(refinable, 3);
  EXPECT_EQ(found.weighted, 3);
  EXPECT_EQ(found.largest_memory, largest);
  EXPECT_EQ(found.flops, flops);
  EXPECT_EQ(found.parameters, network.parameters());
  EXPECT_EQ(found.centre, "zero");
  EXPECT_LT(found.largest_memory, inspect(network, {.samples = 2000}).largest_memory);
  EXPECT_THROW(inspect(network, {.memory = "much"}), Error);
  EXPECT_THROW(inspect(Network()), Error);
}

TEST(Network, ThatIsEmptySaysSo) {
  const Network network;
  EXPECT_TRUE(network.empty());
  EXPECT_THROW(network.layers(), Error);
  EXPECT_THROW(network.save("nothing.onnx"), Error);
  EXPECT_THROW(Network::load("no/such/file.onnx"), Error);
}

}  // namespace
}  // namespace lwsvm
