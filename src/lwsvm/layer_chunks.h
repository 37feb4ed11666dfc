// How the samples of a layer problem are cut up for the workers: chunks of a size that does not depend on
// their number, so that the bits do not either.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "engine/threads.h"

namespace lwsvm {

inline constexpr int kLayerChunk =
    24;  // a multiple of six: no row of a product needs padding (engine/gemm.h)

// visit(first position, samples of the chunk, worker) over chunks of `samples`.
template <typename Visit>
void for_layer_chunks(std::span<const std::int32_t> samples, const Threads& threads, const Visit& visit) {
  const int count = static_cast<int>((samples.size() + kLayerChunk - 1) / kLayerChunk);
  threads.for_each(count, [&](int piece, int worker) {
    const std::size_t first = static_cast<std::size_t>(piece) * kLayerChunk;
    visit(first, samples.subspan(first, std::min<std::size_t>(kLayerChunk, samples.size() - first)), worker);
  });
}

}  // namespace lwsvm
