// Which of several normalisations a network was trained on: found by trying them.
//
// Every candidate is run on the same few hundred samples, those that cannot be told from the best on some
// thousands. Two candidates are compared on the samples that one gets right and the other wrong
// (McNemar's test):
//
//   z = (a - b) / sqrt(a + b),   a, b: samples that only the first, only the second gets right
//
// Of the candidates whose accuracy cannot be told from the best one's (z below 3), the one with the lowest
// hinge loss is taken: where the scale of the pixels hardly matters to the predictions (no biases, or
// small ones) it still matters to the scores, and on the right scale both margins and mistakes are of the
// size that training left them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/sample_source.h"
#include "engine/threads.h"
#include "model/model.h"

namespace lwsvm {

struct NormalizationCandidate {
  std::string name;
  std::vector<float> mean, deviation;  // as adapt_input takes them
  bool reversed = false;
};

struct NormalizationTrial {
  std::string name;
  std::int64_t samples = 0;
  double accuracy = 0;
  double loss = 0;        // mean hinge
  bool contends = false;  // its accuracy cannot be told from that of the best
};

struct NormalizationFindings {
  enum class Verdict {
    best,      // all others are clearly less accurate
    alike,     // some are about as accurate: the lowest loss was taken
    unclear,   // some may be more accurate by more than 2%
    guessing,  // no candidate is right more often than labels drawn at random would be
  };
  Verdict verdict = Verdict::best;
  std::size_t taken = 0;  // of the candidates
  std::vector<NormalizationTrial> trials;
};

// The model must be as read, and able to take samples of that shape (can_take). The samples should be in
// random order: the first ones are used, as many as seem worth their time.
NormalizationFindings search_normalization(const Model& model, const Shape& sample,
                                           std::span<const NormalizationCandidate> candidates,
                                           const SampleSource& samples, const Threads& threads);

}  // namespace lwsvm
