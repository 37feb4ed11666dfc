#include "lwsvm/layer_data.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/simd.h"

namespace lwsvm {
namespace {

ProgramOptions prefix_options(const Graph& network, const Tail& tail, int from, int chunk) {
  ProgramOptions options;
  options.samples = chunk;
  options.from = from;
  options.target = network.node(tail.open_node).inputs[0];
  options.extra_targets = tail.frontier;
  options.image_layout = Layout::channels_last;
  return options;
}

std::size_t packed_bytes(const PatternSection& section) {
  return section.bits == 1 ? (section.bytes_per_sample + 7) / 8 : section.bytes_per_sample;
}

// A sample's bytes lie `lanes` apart.
LWSVM_SIMD void pack_bits(const std::uint8_t* bytes, std::size_t lanes, std::size_t count,
                          std::uint8_t* bits) {
  for (std::size_t i = 0; i < count; i += 8) {
    unsigned value = 0;
    const std::size_t here = std::min<std::size_t>(8, count - i);
    for (std::size_t k = 0; k < here; ++k) value |= static_cast<unsigned>(bytes[(i + k) * lanes] & 1) << k;
    bits[i / 8] = static_cast<std::uint8_t>(value);
  }
}

LWSVM_SIMD void unpack_bits(const std::uint8_t* bits, std::size_t count, std::size_t lanes,
                            std::uint8_t* bytes) {
  for (std::size_t i = 0; i < count; ++i) bytes[i * lanes] = (bits[i / 8] >> (i % 8)) & 1;
}

void copy_apart(const std::uint8_t* from, std::size_t from_step, std::size_t count, std::uint8_t* to,
                std::size_t to_step) {
  for (std::size_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

// Where position `at` of a section begins.
std::size_t place(const PatternSection& section, int at) {
  const int lane = at % section.lanes;
  return section.offset + static_cast<std::size_t>(at - lane) * section.bytes_per_sample +
         static_cast<std::size_t>(lane);
}

}  // namespace

LayerInputs::LayerInputs(const Graph& network, const Tail& tail, const SampleSource& source, int from,
                         int chunk, std::uint64_t budget, const Threads& threads)
    : source_(source),
      chunk_(chunk),
      image_{network.node(from >= 0 ? from : network.inputs()[0]).shape, Layout::channels_first},
      prefix_(network, prefix_options(network, tail, from, chunk)) {
  prefix_.load(network);
  for (int worker = 0; worker < threads.count(); ++worker) {
    workspaces_.push_back(prefix_.make_workspace());
    images_.emplace_back(static_cast<std::size_t>(chunk * image_.size()));
  }
  sizes_.push_back(element_count(network.node(network.node(tail.open_node).inputs[0]).shape));
  for (int node : tail.frontier) sizes_.push_back(element_count(network.node(node).shape));
  row_ = std::accumulate(sizes_.begin(), sizes_.end(), std::int64_t{0});
  const auto wanted = static_cast<std::uint64_t>(row_ * source.size()) * sizeof(float);
  if (wanted > budget) return;
  values_.resize(static_cast<std::size_t>(row_ * source.size()));
  const auto chunks = static_cast<int>((source.size() + chunk - 1) / chunk);
  threads.for_each(chunks, [&](int piece, int worker) {
    std::vector<std::int32_t> samples;
    const std::int64_t first = std::int64_t{piece} * chunk_, last = std::min(source_.size(), first + chunk_);
    for (std::int64_t i = first; i < last; ++i) samples.push_back(static_cast<std::int32_t>(i));
    run_prefix(samples, worker);
    for (std::int64_t i = first; i < last; ++i) {
      float* row = values_.data() + i * row_;
      for (int part = 0; part < parts(); ++part) {
        std::copy_n(prefix_part(part, worker) + (i - first) * size(part), size(part), row);
        row += size(part);
      }
    }
  });
  cached_ = true;
}

void LayerInputs::run_prefix(std::span<const std::int32_t> samples, int worker) {
  Workspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
  float* images = images_[static_cast<std::size_t>(worker)].data();
  // A short chunk is filled up with its last sample: the program always runs on `chunk` of them.
  for (int i = 0; i < chunk_; ++i)
    source_.read(samples[std::min(static_cast<std::size_t>(i), samples.size() - 1)],
                 images + i * image_.size());
  // Sources write channels first; the program, which hands out z channels last, takes its input so too.
  TensorSpec wanted = image_;
  if (image_.shape.size() == 3) wanted.layout = Layout::channels_last;
  relayout(image_, images, wanted, prefix_.input(workspace), chunk_);
  prefix_.forward(workspace, PatternUse::ignore);
}

const float* LayerInputs::prefix_part(int part, int worker) const {
  const Workspace& workspace = workspaces_[static_cast<std::size_t>(worker)];
  return part == 0 ? prefix_.output(workspace) : prefix_.extra_output(workspace, part - 1);
}

void LayerInputs::fetch(std::span<const std::int32_t> samples, std::span<float* const> targets, int worker) {
  if (!cached_) run_prefix(samples, worker);
  std::int64_t offset = 0;
  for (std::size_t part = 0; part < targets.size(); ++part) {
    const std::int64_t length = sizes_[part];
    if (cached_)
      for (std::size_t i = 0; i < samples.size(); ++i)
        std::copy_n(values_.data() + samples[i] * row_ + offset, length,
                    targets[part] + static_cast<std::int64_t>(i) * length);
    else
      std::copy_n(prefix_part(static_cast<int>(part), worker),
                  length * static_cast<std::int64_t>(samples.size()), targets[part]);
    offset += length;
  }
}

void LayerInputs::fetch_inputs(std::span<const std::int32_t> samples, float* target, int worker) {
  float* const targets[] = {target};
  fetch(samples, targets, worker);
}

std::uint64_t PatternCache::bytes_for(const std::vector<PatternSection>& sections, std::int64_t samples) {
  std::uint64_t row = 0;
  for (const PatternSection& section : sections) row += packed_bytes(section);
  return row * static_cast<std::uint64_t>(samples);
}

PatternCache::PatternCache(std::vector<PatternSection> sections, std::int64_t samples)
    : sections_(std::move(sections)) {
  for (const PatternSection& section : sections_) row_ += packed_bytes(section);
  packed_.resize(row_ * static_cast<std::size_t>(samples));
}

void PatternCache::store(std::int64_t sample, const std::uint8_t* patterns, int at) {
  std::uint8_t* target = packed_.data() + static_cast<std::size_t>(sample) * row_;
  for (const PatternSection& section : sections_) {
    const std::uint8_t* source = patterns + place(section, at);
    const auto lanes = static_cast<std::size_t>(section.lanes);
    if (section.bits == 1)
      pack_bits(source, lanes, section.bytes_per_sample, target);
    else
      copy_apart(source, lanes, section.bytes_per_sample, target, 1);
    target += packed_bytes(section);
  }
}

void PatternCache::load(std::int64_t sample, std::uint8_t* patterns, int at) const {
  const std::uint8_t* source = packed_.data() + static_cast<std::size_t>(sample) * row_;
  for (const PatternSection& section : sections_) {
    std::uint8_t* target = patterns + place(section, at);
    const auto lanes = static_cast<std::size_t>(section.lanes);
    if (section.bits == 1)
      unpack_bits(source, section.bytes_per_sample, lanes, target);
    else
      copy_apart(source, 1, section.bytes_per_sample, target, lanes);
    source += packed_bytes(section);
  }
}

}  // namespace lwsvm
