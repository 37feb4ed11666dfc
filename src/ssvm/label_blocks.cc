#include "ssvm/label_blocks.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace lwsvm {

LabelBlocks::LabelBlocks(std::span<const std::int32_t> labels, int classes)
    : labels_(labels), classes_(classes), first_(labels.size(), kNone) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      fail("labels", "sample {} has label {}: there are only {} classes", i, labels[i], classes);
}

double LabelBlocks::other_weight(std::int64_t sample) const {
  double others = 0;
  for (auto e = first_[sample]; e != kNone; e = entry(e).next) others += entry(e).weight;
  return others;
}

double LabelBlocks::true_weight(std::int64_t sample) const {
  return std::max(0.0, 1.0 - other_weight(sample));
}

double LabelBlocks::dot(std::int64_t sample, const float* values) const {
  const double own = values[labels_[sample]];
  double sum = own;
  for (auto e = first_[sample]; e != kNone; e = entry(e).next)
    sum += entry(e).weight * (values[entry(e).label] - own);
  return sum;
}

void LabelBlocks::read(std::int64_t sample, std::span<float> point) const {
  std::fill(point.begin(), point.end(), 0.0f);
  for (auto e = first_[sample]; e != kNone; e = entry(e).next) point[entry(e).label] = entry(e).weight;
  point[labels_[sample]] = static_cast<float>(true_weight(sample));
}

void LabelBlocks::blend(std::int64_t sample, int label, float step) {
  if (step == 0.0f) return;
  remember(sample);
  const auto wanted = static_cast<std::uint32_t>(label);
  const bool adds = label != labels_[sample];
  bool added = !adds;
  std::uint32_t* link = &first_[sample];
  while (*link != kNone) {
    Entry& here = entry(*link);
    if (!added && here.label > wanted) {
      *link = allocate(step, wanted, *link);
      added = true;
      link = &entry(*link).next;
      continue;
    }
    here.weight *= 1.0f - step;
    if (adds && here.label == wanted) {
      here.weight += step;
      added = true;
    }
    if (here.weight == 0.0f) {
      const std::uint32_t gone = *link;
      *link = here.next;
      release(gone);
    } else {
      link = &here.next;
    }
  }
  if (!added) *link = allocate(step, wanted, kNone);
  pack_if_idle();
}

void LabelBlocks::write(std::int64_t sample, std::span<const float> point) {
  remember(sample);
  std::uint32_t* link = &first_[sample];
  for (int label = 0; label < classes_; ++label) {
    const float weight = point[label];
    if (weight == 0.0f || label == labels_[sample]) continue;
    if (*link == kNone) *link = allocate(0.0f, 0, kNone);
    Entry& here = entry(*link);
    here.weight = weight;
    here.label = static_cast<std::uint32_t>(label);
    link = &here.next;
  }
  while (*link != kNone) {
    const std::uint32_t gone = *link;
    *link = entry(gone).next;
    release(gone);
  }
  pack_if_idle();
}

void LabelBlocks::begin_round() {
  earlier_ = {};
  earlier_.kept = true;
}

void LabelBlocks::remember(std::int64_t sample) {
  if (!earlier_.kept) return;
  earlier_.samples.push_back(sample);
  for (auto e = first_[sample]; e != kNone; e = entry(e).next) {
    earlier_.labels.push_back(entry(e).label);
    earlier_.weights.push_back(entry(e).weight);
  }
  earlier_.ends.push_back(static_cast<std::uint32_t>(earlier_.labels.size()));
}

void LabelBlocks::finish_round(double share) {
  const Earlier earlier = std::exchange(earlier_, {});
  if (share == 1) return;
  std::vector<float> point(static_cast<std::size_t>(classes_)), before(point.size());
  std::size_t at = 0;
  for (std::size_t k = 0; k < earlier.samples.size(); ++k) {
    read(earlier.samples[k], point);
    std::ranges::fill(before, 0.0f);
    for (; at < earlier.ends[k]; ++at) before[earlier.labels[at]] = earlier.weights[at];
    for (std::size_t y = 0; y < point.size(); ++y)
      point[y] = static_cast<float>(before[y] + share * (static_cast<double>(point[y]) - before[y]));
    write(earlier.samples[k], point);
  }
}

std::uint64_t LabelBlocks::nonzeros() const {
  std::uint64_t count = used_ - idle_count_;
  for (std::int64_t i = 0; i < samples(); ++i) count += true_weight(i) != 0.0;
  return count;
}

// What the points take. The pool's idle entries (at most an eighth, and the rest of its last chunk) are left
// out: how many there are depends on how the points came about, and a resumed run must report what an
// uninterrupted one does.
std::uint64_t LabelBlocks::bytes() const {
  return first_.size() * sizeof(first_[0]) + (used_ - idle_count_) * sizeof(Entry);
}

// Handing out an entry never moves another: links into the pool stay valid.
std::uint32_t LabelBlocks::allocate(float weight, std::uint32_t label, std::uint32_t next) {
  std::uint32_t index = idle_;
  if (index != kNone) {
    idle_ = entry(index).next;
    --idle_count_;
  } else {
    index = used_++;
    LWSVM_CHECK(index != kNone);
    if ((index >> kChunkBits) == pool_.size()) pool_.push_back(std::make_unique<Entry[]>(kChunk));
  }
  entry(index) = {weight, label, next};
  return index;
}

void LabelBlocks::release(std::uint32_t index) {
  entry(index).next = idle_;
  idle_ = index;
  ++idle_count_;
}

void LabelBlocks::pack_if_idle() {
  if (idle_count_ <= kChunk || idle_count_ < used_ / 8) return;
  LabelBlocks packed(labels_, classes_);
  for (std::int64_t i = 0; i < samples(); ++i) {
    std::uint32_t* link = &packed.first_[i];
    for (auto e = first_[i]; e != kNone; e = entry(e).next) {
      *link = packed.allocate(entry(e).weight, entry(e).label, kNone);
      link = &packed.entry(*link).next;
    }
  }
  packed.earlier_ = std::move(earlier_);
  *this = std::move(packed);
}

void LabelBlocks::visit(StateArchive& archive) {
  std::vector<std::int32_t> counts(first_.size(), 0), labels;
  std::vector<float> weights;
  for (std::int64_t i = 0; i < samples(); ++i)
    for (auto e = first_[i]; e != kNone; e = entry(e).next) {
      ++counts[i];
      labels.push_back(static_cast<std::int32_t>(entry(e).label));
      weights.push_back(entry(e).weight);
    }
  const std::size_t expected = counts.size();
  archive.made_array("blocks.counts", counts);
  archive.made_array("blocks.labels", labels);
  archive.made_array("blocks.weights", weights);
  if (!archive.loading()) return;
  if (counts.size() != expected)
    fail("checkpoint",
         "'blocks.counts' holds {} numbers, this problem needs {}: it belongs to another problem",
         counts.size(), expected);

  LabelBlocks loaded(labels_, classes_);
  std::size_t position = 0;
  for (std::int64_t i = 0; i < samples(); ++i) {
    std::uint32_t* link = &loaded.first_[i];
    for (std::int32_t k = 0; k < counts[i]; ++k, ++position) {
      if (position >= labels.size() || position >= weights.size() || labels[position] < 0 ||
          labels[position] >= classes_)
        fail("checkpoint", "the blocks of sample {} are damaged: start without this checkpoint", i);
      *link = loaded.allocate(weights[position], static_cast<std::uint32_t>(labels[position]), kNone);
      link = &loaded.entry(*link).next;
    }
  }
  *this = std::move(loaded);
}

}  // namespace lwsvm
