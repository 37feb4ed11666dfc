// What is kept of every sample while a layer is open.
#include "lwsvm/layer_data.h"

#include <gtest/gtest.h>

#include <limits>

#include "decomposed.h"
#include "networks.h"

namespace lwsvm {
namespace {

constexpr int kSamples = 37, kChunk = 10;

// Channels last, from the naive network's channels first.
double channels_last(const naive::Tensor& t, std::int64_t n, std::int64_t i) {
  if (t.shape.size() != 3) return t(n, i);
  const std::int64_t channel = i % t.shape[0], pixel = i / t.shape[0];
  return t(n, channel * t.shape[1] * t.shape[2] + pixel);
}

TEST(LayerInputs, AreWhatTheNetworkComputesCachedOrNot) {
  for (const NamedNet& net : all_nets()) {
    const Graph graph = net.make(1);
    const VectorSource source = clusters(kSamples, 2);
    naive::Tensor images(image, kSamples);
    std::vector<float> buffer(at(images.size()));
    for (int n = 0; n < kSamples; ++n) {
      source.read(n, buffer.data());
      std::copy(buffer.begin(), buffer.end(), images.values.begin() + n * images.size());
    }
    const naive::Run run = naive::run(graph, setting_for(graph, {images}));
    for (int open : refinable_layers(graph)) {
      SCOPED_TRACE(net.name + ", open " + graph.node(open).name);
      const Tail tail = cut_tail(graph, open);
      const Threads threads(2);
      LayerInputs cached(graph, tail, source, -1, kChunk, std::numeric_limits<std::uint64_t>::max(), threads);
      LayerInputs recomputed(graph, tail, source, -1, kChunk, cached.bytes() - 1, threads);
      LayerInputs fits(graph, tail, source, -1, kChunk, cached.bytes(), threads);
      EXPECT_TRUE(cached.cached() && fits.cached());
      EXPECT_FALSE(recomputed.cached());
      EXPECT_EQ(recomputed.bytes(), 0u);
      ASSERT_EQ(cached.parts(), 1 + static_cast<int>(tail.frontier.size()));
      const std::vector<std::int32_t> asked{36, 0, 17, 5, 17};
      std::vector<std::vector<float>> a, b;
      std::vector<float*> to_a, to_b;
      for (int part = 0; part < cached.parts(); ++part) {
        a.emplace_back(asked.size() * at(cached.size(part)), -7.0f);
        b.emplace_back(a.back().size(), -8.0f);
      }
      for (auto& part : a) to_a.push_back(part.data());
      for (auto& part : b) to_b.push_back(part.data());
      cached.fetch(asked, to_a, 1);
      recomputed.fetch(asked, to_b, 0);
      EXPECT_EQ(a, b);
      for (int part = 0; part < cached.parts(); ++part) {
        const int node = part == 0 ? graph.node(open).inputs[0] : tail.frontier[at(part - 1)];
        const naive::Tensor& expected = run.values[at(node)];
        ASSERT_EQ(cached.size(part), expected.size());
        for (std::size_t k = 0; k < asked.size(); ++k)
          for (std::int64_t i = 0; i < expected.size(); ++i)
            ASSERT_NEAR(a[at(part)][k * at(expected.size()) + at(i)], channels_last(expected, asked[k], i),
                        1e-4);
      }
      std::vector<float> z(a[0].size());
      cached.fetch_inputs(asked, z.data(), 0);
      EXPECT_EQ(z, a[0]);
    }
  }
}

TEST(PatternCache, GivesBackWhatWasStoredAtAnyPositionAndNothingElse) {
  const int positions = 4;
  // Bits, bytes, and bits that do not fill a byte, two of them of interleaved samples; gaps between the
  // sections as a program leaves them.
  std::vector<PatternSection> sections{{0, 13, 1},  {64, 6, 8},      {128, 16, 1},
                                       {192, 1, 1}, {256, 11, 1, 2}, {320, 5, 8, 4}};
  const std::size_t size = 384;
  PatternCache cache(sections, 9);
  EXPECT_EQ(cache.bytes(), 9u * (2 + 6 + 2 + 1 + 2 + 5));
  EXPECT_EQ(PatternCache::bytes_for(sections, 9), cache.bytes());
  Random random(1, 71);
  std::vector<std::vector<std::uint8_t>> stored;
  for (int sample = 0; sample < 9; ++sample) {
    std::vector<std::uint8_t> patterns(size);
    for (const PatternSection& s : sections)
      for (std::size_t i = 0; i < s.bytes_per_sample * positions; ++i)
        patterns[s.offset + i] = static_cast<std::uint8_t>(random.below(s.bits == 1 ? 2 : 256));
    cache.store(sample, patterns.data(), sample % positions);
    stored.push_back(patterns);
  }
  for (int sample = 0; sample < 9; ++sample)
    for (int to = 0; to < positions; ++to) {
      std::vector<std::uint8_t> found(size, 99), expected = found;
      cache.load(sample, found.data(), to);
      for (const PatternSection& s : sections) {
        // Byte `byte` at a position: in groups of `lanes` samples, whose bytes take turns.
        const auto place = [&](int position, std::size_t byte) {
          const std::size_t group = at(position / s.lanes), lane = at(position % s.lanes),
                            lanes = at(s.lanes);
          return s.offset + (group * s.bytes_per_sample + byte) * lanes + lane;
        };
        for (std::size_t byte = 0; byte < s.bytes_per_sample; ++byte)
          expected[place(to, byte)] = stored[at(sample)][place(sample % positions, byte)];
      }
      EXPECT_EQ(found, expected) << "sample " << sample << " to position " << to;
    }
}

}  // namespace
}  // namespace lwsvm
