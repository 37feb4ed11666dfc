// Trains a small network on samples that are made in memory, refines it, and says how that went.
#include <lwsvm/error.h>
#include <lwsvm/refine.h>
#include <lwsvm/train.h>

#include <cmath>
#include <iostream>
#include <random>

namespace {

// Stripes of three widths in noise: the width is the class.
struct Stripes final : lwsvm::SampleReader {
  static constexpr int kSide = 12, kClasses = 3;

  Stripes(std::int64_t count, unsigned seed) : count_(count), seed_(seed) {}
  std::int64_t size() const override { return count_; }
  int label(std::int64_t index) const override { return static_cast<int>(index % kClasses); }
  void read(std::int64_t index, float* pixels) const override {
    std::mt19937 random(seed_ + static_cast<unsigned>(index));
    std::normal_distribution<float> noise(0, 1.5f);
    const float phase = noise(random), step = 0.6f + 0.5f * static_cast<float>(label(index));
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x)
        *pixels++ = std::sin(phase + step * static_cast<float>(x)) + noise(random);
  }

 private:
  std::int64_t count_;
  unsigned seed_;
};

}  // namespace

int main() try {
  const Stripes train(3000, 1), test(600, 1000000);
  const lwsvm::Data data = lwsvm::Data::copy(
      {.shape = {1, Stripes::kSide, Stripes::kSide}, .classes = 3, .train = &train, .test = &test});

  lwsvm::Network network;  // empty: train() builds one
  lwsvm::train(network, data, {.arch = "conv8x3-relu-pool2-dense16-relu", .epochs = 3});
  lwsvm::RefineSettings settings;
  settings.passes = 4;
  settings.on_update = [](const lwsvm::RefineUpdate& update) {
    std::cerr << update.layer << ": " << update.before << " -> " << update.after << "\n";
    return true;  // false would stop
  };
  const lwsvm::RefineSummary summary = lwsvm::refine(network, data, settings);
  std::cout << summary.full_report();
  network.save("refined.onnx");
} catch (const lwsvm::Error& error) {
  std::cerr << error.what() << "\n";
  return 2;
}
