// Samples where they lie, networks as bytes, sparse samples, and stopping from another thread.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "api/own_samples.h"
#include "lwsvm/error.h"
#include "lwsvm/evaluate.h"
#include "lwsvm/refine.h"
#include "lwsvm/stop.h"
#include "lwsvm/svm.h"
#include "lwsvm/train.h"
#include "lwsvm/units.h"

namespace lwsvm {
namespace {

using testing::HasSubstr;

// The samples of a reader, one after the other.
struct Laid {
  explicit Laid(const Bars& bars) {
    constexpr std::int64_t size = std::int64_t{Bars::kSide} * Bars::kSide;
    values->resize(static_cast<std::size_t>(bars.size() * size));
    for (std::int64_t i = 0; i < bars.size(); ++i) {
      bars.read(i, values->data() + i * size);
      labels.push_back(bars.label(i));
    }
  }
  Data::Array array() const {
    return {.dims = {std::ssize(labels), Bars::kSide, Bars::kSide},
            .floats = values->data(),
            .labels = labels,
            .owner = values};
  }

  std::shared_ptr<std::vector<float>> values = std::make_shared<std::vector<float>>();
  std::vector<std::int32_t> labels;
};

std::string error_of(const Data::Arrays& arrays) {
  try {
    Data::view(arrays);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(DataView, GivesTheBitsOfACopy) {
  const Laid train_samples(Bars(240, 1)), test_samples(Bars(60, 2));
  const Data view = Data::view({.classes = 3, .train = train_samples.array(), .test = test_samples.array()});
  Network by_view, by_copy;
  train(by_view, view, {.arch = kSmallNet, .epochs = 2, .batch = 20});
  train(by_copy, bars(), {.arch = kSmallNet, .epochs = 2, .batch = 20});
  EXPECT_TRUE(by_view.to_bytes() == by_copy.to_bytes());
  EXPECT_EQ(scores(by_view, view), scores(by_copy, bars()));
}

TEST(DataView, LooksAtTheNumbersWhereTheyAreAndKeepsTheirOwner) {
  auto laid = std::make_unique<Laid>(Bars(30, 1));
  const std::weak_ptr<std::vector<float>> numbers = laid->values;
  std::optional<Data> data = Data::view({.train = laid->array(), .test = laid->array()});
  laid.reset();
  EXPECT_FALSE(numbers.expired());
  Network network;
  train(network, *data, {.arch = "dense4-relu", .epochs = 1});
  const std::vector<float> before = scores(network, *data);
  for (float& value : *numbers.lock()) value = 1 - value;
  EXPECT_NE(scores(network, *data), before);
  data.reset();
  EXPECT_TRUE(numbers.expired());
}

TEST(DataView, TakesBytesAndChannelsLast) {
  constexpr std::int64_t samples = 12;
  std::vector<std::uint8_t> first(samples * 48), last(samples * 48);
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < samples; ++i) {
    labels.push_back(static_cast<std::int32_t>(i % 2));
    for (std::int64_t c = 0; c < 3; ++c)
      for (std::int64_t p = 0; p < 16; ++p) {
        const auto value = static_cast<std::uint8_t>(37 * i + 11 * c + 5 * p);
        first[static_cast<std::size_t>(i * 48 + c * 16 + p)] = value;
        last[static_cast<std::size_t>(i * 48 + p * 3 + c)] = value;
      }
  }
  const auto view = [&](const std::vector<std::uint8_t>& pixels, std::vector<std::int64_t> dims,
                        std::optional<bool> channels_last = {}) {
    const Data::Array array{.dims = std::move(dims), .bytes = pixels.data(), .labels = labels};
    return Data::view({.train = array, .test = array, .channels_last = channels_last});
  };
  const Data by_channel = view(first, {samples, 3, 4, 4}), by_pixel = view(last, {samples, 4, 4, 3});
  EXPECT_EQ(by_pixel.shape(), (ImageShape{3, 4, 4}));
  Network network;
  train(network, by_channel, {.arch = "dense4-relu", .epochs = 1});
  EXPECT_EQ(scores(network, by_channel), scores(network, by_pixel));
  EXPECT_EQ(view(last, {samples, 4, 4, 3}, false).shape(), (ImageShape{4, 4, 3}));
  EXPECT_EQ(view(first, {samples, 3, 4, 4}, true).shape(), (ImageShape{4, 3, 4}));
}

TEST(DataView, RefusesWhatIsNoSample) {
  const Laid laid(Bars(9, 1));
  const auto with = [&](auto change) {
    Data::Array array = laid.array();
    change(array);
    return error_of({.train = array});
  };
  EXPECT_EQ(with([](Data::Array&) {}), "");
  EXPECT_THAT(with([](Data::Array& a) { a.dims = {}; }), HasSubstr("empty"));
  EXPECT_THAT(with([](Data::Array& a) { a.dims = {9}; }), HasSubstr("1 axes"));
  EXPECT_THAT(with([](Data::Array& a) { a.dims = {0, 6, 6}; }), HasSubstr("empty"));
  EXPECT_THAT(with([](Data::Array& a) { a.dims = {-9, 6, 6}; }), HasSubstr("empty"));
  EXPECT_THAT(with([](Data::Array& a) { a.dims = {9, 0, 6}; }), HasSubstr("empty"));
  EXPECT_THAT(with([](Data::Array& a) { a.dims = {9, 1 << 20, 1 << 20}; }), HasSubstr("2^28"));
  EXPECT_THAT(with([](Data::Array& a) { a.dims = {1LL << 40, 6, 6}; }), HasSubstr("too many"));
  EXPECT_THAT(with([](Data::Array& a) { a.labels.pop_back(); }), HasSubstr("8 labels for 9 samples"));
  EXPECT_THAT(with([](Data::Array& a) { a.labels[3] = -1; }), HasSubstr("label -1"));
  EXPECT_THAT(with([](Data::Array& a) { a.floats = nullptr; }), HasSubstr("floats or bytes"));
  const Laid bad(Bars(9, 1));
  (*bad.values)[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of({.train = bad.array()}), HasSubstr("value 17 is not a number"));
  EXPECT_THAT(error_of({.train = laid.array(), .validation = bad.array()}), HasSubstr("validation samples"));
  Data::Array other = laid.array();
  other.dims = {9, 4, 9};
  EXPECT_THAT(error_of({.train = laid.array(), .test = other}), HasSubstr("must agree"));
}

TEST(NetworkBytes, AreWhatSaveWrites) {
  Network network;
  train(network, bars(), {.arch = kSmallNet, .epochs = 1});
  const Network again = Network::from_bytes(network.to_bytes());
  EXPECT_TRUE(again.to_bytes() == network.to_bytes());
  EXPECT_EQ(scores(again, bars()), scores(network, bars()));
  EXPECT_THROW(Network::from_bytes("no file"), Error);
  EXPECT_THROW(Network::from_bytes(""), Error);
  EXPECT_THROW(Network().to_bytes(), Error);
}

TEST(NetworkTensors, AreTheLayersWeightsByName) {
  Network network;
  train(network, bars(), {.arch = kSmallNet, .epochs = 1});
  std::map<std::string, StoredArray> tensors;
  for (const StoredArray& tensor : network.tensors()) tensors[tensor.name] = tensor;
  for (const LayerInfo& layer : network.layers()) {
    if (!layer.has_weights) continue;
    ASSERT_EQ(layer.tensors.size(), 2u) << layer.name;
    std::vector<float> numbers;
    for (const std::string& name : layer.tensors) {
      ASSERT_TRUE(tensors.contains(name)) << name;
      std::int64_t size = 1;
      for (const std::int64_t dim : tensors[name].shape) size *= dim;
      EXPECT_EQ(size, std::ssize(tensors[name].values));
      numbers.insert(numbers.end(), tensors[name].values.begin(), tensors[name].values.end());
    }
    std::vector<float> weights = network.weights(layer.name);
    std::ranges::sort(weights);  // the file may have them in another order
    std::ranges::sort(numbers);
    EXPECT_EQ(numbers, weights) << layer.name;
  }
}

// Rows of `features` numbers of which only a few are not zero, the class among them.
SparseSamples sparse_samples(std::int64_t features) {
  SparseSamples samples;
  samples.features = features;
  std::uint32_t state = 7;
  for (int i = 0; i < 90; ++i) {
    samples.labels.push_back(i % 3);
    std::vector<std::int32_t> columns{i % 3};
    for (int k = 0; k < 3; ++k) {
      state = state * 1664525u + 1013904223u;
      columns.push_back(
          static_cast<std::int32_t>(3 + (state >> 8) % static_cast<std::uint32_t>(features - 3)));
    }
    std::ranges::sort(columns);
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (const std::int32_t column : columns) {
      state = state * 1664525u + 1013904223u;
      samples.columns.push_back(column);
      samples.values.push_back(0.5f + static_cast<float>(state >> 16) / 65536.0f);
    }
    samples.row_begin.push_back(std::ssize(samples.columns));
  }
  return samples;
}

Data dense_of(const SparseSamples& samples, std::vector<float>& values) {
  values.assign(samples.labels.size() * static_cast<std::size_t>(samples.features), 0.0f);
  for (std::size_t row = 0; row + 1 < samples.row_begin.size(); ++row)
    for (std::int64_t i = samples.row_begin[row]; i < samples.row_begin[row + 1]; ++i)
      values[row * static_cast<std::size_t>(samples.features) +
             static_cast<std::size_t>(samples.columns[static_cast<std::size_t>(i)])] =
          samples.values[static_cast<std::size_t>(i)];
  return Data::view({.train = {.dims = {std::ssize(samples.labels), samples.features},
                               .floats = values.data(),
                               .labels = samples.labels}});
}

TEST(SparseSvm, ReachesTheObjectiveOfTheDenseOne) {
  for (const std::int64_t features : {8, 200}) {  // kept as a matrix, kept sparse
    const SparseSamples samples = sparse_samples(features);
    const SvmSettings settings{.task = {.validation = "0"}, .lambda = 0.01, .gap = 1e-4};
    SvmSettings as_they_are = settings;
    as_they_are.pixels.scale = 1;
    Network sparse, dense;
    std::vector<float> values;
    const Data data = dense_of(samples, values);
    const SvmSummary by_rows = train_svm(sparse, samples, settings);
    const SvmSummary by_matrix = train_svm(dense, data, as_they_are);
    EXPECT_LE(by_rows.relative_gap, 1.01e-4);
    EXPECT_NEAR(by_rows.objective, by_matrix.objective, 2e-4 * by_matrix.objective) << features;
    EXPECT_EQ(by_rows.features, features);
    EXPECT_EQ(by_rows.samples, 90);
    EXPECT_EQ(sparse.input_shape(), dense.input_shape());
  }
}

TEST(SparseSvm, RefusesRowsThatAreNone) {
  const auto error = [](auto change) -> std::string {
    SparseSamples samples = sparse_samples(200);
    change(samples);
    Network network;
    try {
      train_svm(network, samples);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error([](SparseSamples&) {}), "");
  EXPECT_THAT(error([](SparseSamples& s) { s.features = 0; }), HasSubstr("features"));
  EXPECT_THAT(error([](SparseSamples& s) { s.features = 5; }), HasSubstr("columns are 0 to 4"));
  EXPECT_THAT(error([](SparseSamples& s) { s.row_begin.clear(); }), HasSubstr("labels"));
  EXPECT_THAT(error([](SparseSamples& s) { s.row_begin.pop_back(); }), HasSubstr("labels"));
  EXPECT_THAT(error([](SparseSamples& s) { s.row_begin[5] = 1000000; }), HasSubstr("rows must"));
  EXPECT_THAT(error([](SparseSamples& s) { s.row_begin[0] = -1; }), HasSubstr("rows must"));
  EXPECT_THAT(error([](SparseSamples& s) { s.columns[1] = s.columns[0]; }), HasSubstr("must rise"));
  EXPECT_THAT(error([](SparseSamples& s) { s.columns[0] = -3; }), HasSubstr("column -3"));
  EXPECT_THAT(error([](SparseSamples& s) { s.values[4] = NAN; }), HasSubstr("not a number"));
  EXPECT_THAT(error([](SparseSamples& s) { s.values.pop_back(); }), HasSubstr("rows must"));
  EXPECT_THAT(error([](SparseSamples& s) { s.labels[7] = -1; }), HasSubstr("label -1"));
  EXPECT_THAT(error([](SparseSamples& s) { s.classes = 2; }), HasSubstr("out of range"));
  EXPECT_THAT(error([](SparseSamples& s) { std::ranges::fill(s.labels, 0); }), HasSubstr("two classes"));
  EXPECT_THAT(error([](SparseSamples& s) { s = {.features = 3}; }), HasSubstr("no samples"));
  EXPECT_THAT(error([](SparseSamples& s) {
                s.columns.clear();
                s.values.clear();
                std::ranges::fill(s.row_begin, 0);
              }),
              HasSubstr("no sample has a feature"));
}

TEST(RequestStop, EndsARefinementOnAnotherThreadWithWhatItHas) {
  const StopListener listener;
  const Data data = bars();
  Network network;
  train(network, data, {.arch = kSmallNet, .epochs = 1});
  RefineSettings settings{.patience = 1 << 20};
  settings.passes = 1 << 20;
  std::atomic<bool> begun = false;
  settings.on_progress = [&](const RefineProgress&) {
    begun = true;
    return true;
  };
  RefineSummary summary;
  std::thread worker([&] { summary = refine(network, data, settings); });
  while (!begun) std::this_thread::yield();
  request_stop();
  worker.join();
  EXPECT_LE(summary.end.objective, summary.start.objective);
  // It may have come to its end by itself meanwhile.
  if (!summary.finished) {
    EXPECT_EQ(summary.reason, "stopped");
  }
}

// Before its first epoch, Deep Frank-Wolfe makes short runs; of a million epochs they are long.
TEST(RequestStop, EndsTheSearchForARadius) {
  const StopListener listener;
  Network network;
  TrainSummary summary;
  std::thread worker(
      [&] { summary = train(network, bars(), {.arch = kSmallNet, .solver = "dfw", .epochs = 1 << 20}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  request_stop();
  worker.join();
  EXPECT_FALSE(summary.finished);
  EXPECT_FALSE(network.empty());
}

TEST(RequestStop, ThrowsWhereThereIsNothingYet) {
  const StopListener listener;
  request_stop();
  EXPECT_THROW(Data::load("synthetic:n=3000,test=10,classes=2,size=4x4"), Stopped);
}

TEST(RequestStop, IsForgottenWithItsListenerAndNotHeardWithoutOne) {
  Network network;
  train(network, bars(), {.arch = kSmallNet, .epochs = 1});
  {
    const StopListener listener;
    request_stop();
  }
  EXPECT_TRUE(refine(network, bars(), {.passes = 1}).finished);
  request_stop();
  EXPECT_TRUE(refine(network, bars(), {.passes = 1}).finished);
  const StopListener listener;
  EXPECT_EQ(Data::load("synthetic:n=30,test=10,classes=2,size=4x4").train_size(), 30);
}

TEST(Units, AreThoseOfTheCommandLine) {
  EXPECT_EQ(parse_seconds("1h30m", "time-limit"), 5400);
  EXPECT_EQ(parse_size("4G", "memory"), std::uint64_t{4} << 30);
  EXPECT_THROW(parse_seconds("soon", "time-limit"), Error);
  EXPECT_THROW(parse_size("-1", "memory"), Error);
}

}  // namespace
}  // namespace lwsvm
