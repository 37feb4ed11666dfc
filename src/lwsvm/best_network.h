// The best network that a refinement has come by: looked at after every move, kept when all is over.
//
// The networks that validation cannot tell from the most accurate one are as good on new data as far as
// anybody knows: of these it is the one with the lowest F. (Of many networks the one with the highest
// accuracy owes part of that to chance, and the more so the more alike they are.) None that is less accurate
// than the start. Few validation samples, or the paper's passes: by accuracy, ties by loss, or by the loss
// alone; without a validation part by F.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/checkpoint.h"
#include "lwsvm/refine_observer.h"

namespace lwsvm {

class BestNetwork {
 public:
  // most_accurate: no network with a lower F takes the place of the most accurate one.
  BestNetwork(std::int64_t validation_samples, bool most_accurate)
      : validation_samples_(validation_samples), most_accurate_only_(most_accurate) {}

  void begin(const NetworkQuality& start, std::span<const float> parameters);
  // What there is after a move, and whether it is the most accurate one so far.
  bool consider(const NetworkQuality& network, std::span<const float> parameters, int move);

  const NetworkQuality& start() const { return start_; }
  const NetworkQuality& quality() const { return quality_; }
  const std::vector<float>& start_parameters() const { return start_parameters_; }
  const std::vector<float>& parameters() const { return parameters_; }
  int move() const { return move_; }  // 0: the start

  // By more than chance would make of it: a standard error of the accuracy, or a tenth of the loss where the
  // samples are few.
  bool is_clearly_better(const NetworkQuality& a, const NetworkQuality& b) const;

  void save(Checkpoint& checkpoint) const;
  void restore(Checkpoint& checkpoint, int move);

 private:
  bool is_better(const NetworkQuality& a, const NetworkQuality& b) const;
  bool is_to_be_kept(const NetworkQuality& network) const;

  std::int64_t validation_samples_;
  bool most_accurate_only_;
  NetworkQuality start_, quality_, most_accurate_;
  std::vector<float> start_parameters_, parameters_;
  int move_ = 0;
};

// A checkpoint holds a quality as numbers.
std::vector<double> flat(const NetworkQuality& quality);
NetworkQuality quality_of(std::span<const double> values);
inline constexpr std::size_t kQualityNumbers = 5;

}  // namespace lwsvm
