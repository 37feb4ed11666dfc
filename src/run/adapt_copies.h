// Transformed copies of the training photos in a run of `lwsvm adapt`: those that were asked for (--augment),
// or, of few photos, some that nobody asked for.
//
// Older layers have more weights than a few photos can hold in place: they learn the photos by heart, unless
// they see each of them in several ways. The new layer, which has few weights, is no better for copies that
// may be unlike the photos that it will see, so it learns from copies only where they were asked for; and
// what older layers make of copies that were not is kept only if it is better beyond doubt.
#pragma once

#include <string>

#include "data/dataset.h"
#include "run/adapt_job.h"
#include "run/adapt_stages.h"

namespace lwsvm::run {

struct Copies {
  std::string words;      // as --augment takes them; empty: none
  bool asked_for = true;  // or are made up
};

// So few training photos need copies, and more of a validation part.
bool are_few(const DataSet& data);

// `seconds`: the time limit, or 0; `flops`: of the network, for one photo; `crops`: parts can be cut out of
// the photos, which are files.
Copies choose_copies(const AdaptJob& job, Depth depth, const DataSet& data, double flops, double seconds,
                     int threads, bool crops);

// Of the samples that one of two networks is right about and the other is not, the second one has won and
// lost so many: more are won than chance would win, by two standard errors.
bool is_beyond_doubt(std::int64_t won, std::int64_t lost);

}  // namespace lwsvm::run
