// The dense layers of a VGG-16-shaped network, 25088-4096-4096-CLASSES, refined on features that are read
// from a file: what a layer update takes, of the processor and of memory, for bench/imagenet_scale.py.
//
//   imagenet_scale SAMPLES CLASSES EPOCHS MEMORY SEARCH FOLDER
//
// Random weights; the features are random, too: of each class a mean for every channel of the last pool,
// samples around it, ReLU, about half of them zero. They lie in FOLDER afterwards, for the next call with the
// same numbers. SEARCH is labels, auto or full, as for `lwsvm refine`. One pass, from the last layer inwards,
// of EPOCHS each. Prints one JSON object. LWSVM_CLOCK=cpu: seconds of the processor.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/machine.h"
#include "base/random.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "engine/gemm.h"
#include "lwsvm/layer_memory.h"
#include "lwsvm/network_tail.h"
#include "lwsvm/refiner.h"
#include "model/arch.h"
#include "net/layers/arithmetic_layers.h"
#include "run/feature_store.h"

namespace lwsvm::run {
namespace {

constexpr std::int64_t kChannels = 512, kPositions = 49, kWidth = kChannels * kPositions;

// Half of a channel's noise is the same at all positions, as what a photo shows is.
class RandomFeatures final : public SampleSource {
 public:
  RandomFeatures(std::int64_t samples, int classes) : samples_(samples), classes_(classes) {
    constexpr double distance = 0.08;
    Random random(1);
    means_.resize(static_cast<std::size_t>(classes * kChannels));
    for (float& mean : means_) mean = static_cast<float>(distance * random.normal());
  }
  std::int64_t size() const override { return samples_; }
  std::int32_t label(std::int64_t index) const override {
    return static_cast<std::int32_t>(index % classes_);
  }
  void read(std::int64_t index, float* target) const override {
    Random random(2, 0, static_cast<std::uint64_t>(index));
    const float* means = means_.data() + label(index) * kChannels;
    constexpr double deviation = 0.3;
    for (std::int64_t c = 0; c < kChannels; ++c) {
      const auto centre = static_cast<float>(means[c] + deviation * random.normal());
      std::uint64_t bits = 0;
      for (std::int64_t p = 0; p < kPositions; ++p, bits >>= 16) {
        if (p % 4 == 0) bits = random.next();
        const float noise = static_cast<float>(bits & 0xffff) / 65536.0f - 0.5f;
        *target++ = std::max(0.0f, centre + noise);
      }
    }
  }

 private:
  std::int64_t samples_;
  int classes_;
  std::vector<float> means_;
};

// The samples themselves, as a network that FeatureStore can run.
Graph nothing_but_input() {
  Graph graph;
  const int pixels = graph.add_input("input", {kChannels, 7, 7});
  graph.add("same", std::make_shared<NormalizeLayer>(std::vector<float>{0.0f}, std::vector<float>{1.0f}),
            {pixels});
  return graph;
}

// From the last pool on.
Graph dense_end(int classes) {
  const Graph vgg = build_network("vgg16", {3, 224, 224}, classes, {}, {}, 0);
  return make_tail(vgg, *vgg.find("pool5")).graph;
}

// The kernel forgets the highest point so far; peak_memory() then tells the next one.
void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

// GFLOP a second of one thread, for a batch of samples and a part of the first dense layer.
double gemm_rate() {
  constexpr std::int64_t samples = 200, outputs = 512;
  const std::vector<float> x(samples * kWidth, 0.5f), w(outputs * kWidth, 0.25f);
  std::vector<float> y(samples * outputs);
  double best = 0;
  for (int round = 0; round < 5; ++round) {
    const Stopwatch watch;
    gemm(Transpose::no, Transpose::yes, samples, outputs, kWidth, 1, x.data(), kWidth, w.data(), kWidth, 0,
         y.data(), outputs);
    best = std::max(best, 2e-9 * samples * outputs * kWidth / watch.seconds());
  }
  return best;
}

// Seconds by the clock to read the store's file once, in order, none of it in memory before.
double reading_seconds(const FeatureStore& store, const std::filesystem::path& folder) {
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (!file.is_regular_file()) continue;
    const int descriptor = ::open(file.path().c_str(), O_RDONLY);
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    ::close(descriptor);
  }
  std::vector<float> row(static_cast<std::size_t>(store.width()));
  timespec begin{}, end{};
  ::clock_gettime(CLOCK_MONOTONIC, &begin);
  for (std::int64_t i = 0; i < store.size(); ++i) store.read(i, row.data());
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  return static_cast<double>(end.tv_sec - begin.tv_sec) +
         1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

// What each layer's update takes.
class Meter final : public RefineObserver {
 public:
  explicit Meter(std::int64_t samples) : samples_(samples) {}

  void on_open(int /*pass*/, const std::string& /*layer*/) override {
    forget_peak();
    watch_ = Stopwatch();
    first_visits_ = 0;
  }
  void on_progress(const SolveProgress& progress) override {
    if (progress.epoch_end) return;
    if (first_visits_ == 0) {
      first_visits_ = progress.visits;
      first_seconds_ = watch_.seconds();
    }
    last_visits_ = progress.visits;
    last_seconds_ = watch_.seconds();
  }
  void on_update(const LayerUpdate& update) override {
    const auto visits = static_cast<double>(last_visits_ - first_visits_);
    layers.push_back({{"layer", update.layer},
                      {"form", update.form},
                      {"epochs", update.epochs},
                      {"visits", last_visits_},
                      {"before", update.before},
                      {"after", update.after},
                      {"gap", update.gap},
                      {"accuracy", update.train_accuracy},
                      {"reason", update.reason},
                      {"seconds", watch_.seconds()},
                      {"seconds_per_epoch", (last_seconds_ - first_seconds_) / visits * double(samples_)},
                      {"dual_bytes", update.dual_bytes},
                      {"cache_bytes", update.cache_bytes},
                      {"peak_bytes", peak_memory()}});
  }
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();

 private:
  std::int64_t samples_;
  Stopwatch watch_;
  std::uint64_t first_visits_ = 0, last_visits_ = 0;
  double first_seconds_ = 0, last_seconds_ = 0;
};

int run(int argc, char** argv) {
  if (argc != 7) {
    fmt::print(stderr, "usage: imagenet_scale SAMPLES CLASSES EPOCHS MEMORY labels|auto|full FOLDER\n");
    return 2;
  }
  const std::int64_t samples = std::atoll(argv[1]);
  const int classes = std::atoi(argv[2]);
  const std::string search = argv[5];
  const std::filesystem::path folder = argv[6];
  const Threads threads;

  const RandomFeatures made(samples, classes);
  const CacheFolder cache(folder, std::uint64_t{1} << 40);
  FeatureOptions how;
  how.cache = &cache;
  how.key = fmt::format("{:064}", samples * 10000 + classes);
  how.description = fmt::format("{} random samples of {} classes", samples, classes);
  how.memory = 0;
  const FeatureStore store(nothing_but_input(), 1, made, how, threads);
  std::vector<std::int32_t> rows(static_cast<std::size_t>(samples));
  for (std::int64_t i = 0; i < samples; ++i) rows[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
  const FeatureView view(store, made, rows);

  Graph network = dense_end(classes);
  RefineOptions options;
  options.lambda = 1e-4;
  options.centre = network.parameters();
  options.moves = Moves::layers;
  options.passes = 1;
  options.max_epochs = std::atoi(argv[3]);
  options.memory = parse_bytes(argv[4], "MEMORY");
  options.search = search == "labels" ? Search::labels : search == "full" ? Search::full : Search::automatic;
  options.layers = refinable_layers(network);

  const double gemm = gemm_rate();
  const double reading = reading_seconds(store, folder);
  const Loss loss(LossKind::hinge, MarginMatrix(classes));
  Refiner refiner(network, view, nullptr, loss, options, threads);
  Meter meter(samples);
  refiner.run(meter);
  for (auto& layer : meter.layers) {
    const int node = *network.find(layer["layer"].get<std::string>());
    const std::int64_t inputs = element_count(network.node(network.node(node).inputs[0]).shape);
    const bool kept = layer["cache_bytes"].get<std::uint64_t>() >= bytes_of_floats(samples * inputs);
    // Forward, and back where there is a gap; what comes before the layer only if its inputs are not kept.
    double flops = 0;
    for (int i = kept ? node : 0; i < static_cast<int>(network.nodes().size()); ++i)
      flops += static_cast<double>(network.flops(i)) * (i >= node ? 2 : 1);
    layer["inputs_kept"] = kept;
    layer["flops_per_visit"] = flops;
    layer["weight_bytes"] = weight_bytes(network, node);
  }
  const nlohmann::ordered_json result{
      {"samples", samples},         {"classes", classes},         {"memory", options.memory},
      {"search", search},           {"threads", threads.count()}, {"file_bytes", store.bytes()},
      {"reading_seconds", reading}, {"gemm_gflops", gemm},        {"layers", meter.layers}};
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace lwsvm::run

int main(int argc, char** argv) {
  try {
    return lwsvm::run::run(argc, argv);
  } catch (const lwsvm::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
