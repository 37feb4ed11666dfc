// A network that others trained, for classes of your own: a new last layer, solved exactly, and then further
// layers, from the output inwards, for as long as that helps.
//
//   Network network = Network::load("mobilenet_v2.onnx");
//   AdaptSummary summary = adapt(network, Data::load("flowers/"));
//   network.save("flowers.onnx");                    // takes pixels 0..255, and knows the names of its
//   classes
//
// `lwsvm adapt --help` says what each setting means.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lwsvm/data.h"
#include "lwsvm/evaluate.h"
#include "lwsvm/model.h"
#include "lwsvm/progress.h"
#include "lwsvm/run_files.h"
#include "lwsvm/units.h"

namespace lwsvm {

struct AdaptSettings {
  TaskSettings task{};
  PixelSettings pixels{};          // how the network's pixels were normalised; empty: found by trying
  std::string depth = "auto";      // head, auto or all
  std::optional<double> lambda{};  // absent: by validation
  bool balance = false;            // rare classes get larger margins
  bool keep_input = false;         // normalisation stays with the network's users
  TimeSpan time_limit{};           // of everything: 90, or "1h30m"; 0: none
  ByteCount memory = "4G";         // for features, and for an open layer
  std::string cache{};  // folder where features, and photos of files, are kept for the next call; empty: the
                        // XDG cache folder
  std::uint64_t cache_limit = std::uint64_t{20} << 30;  // bytes; 0: they are not kept
  bool half_features = false;                           // as float16
  int batch = 200;
  std::uint64_t seed = 0;
  int threads = 0;  // 0: all cores; the result is the same

  // These return false to stop; the best network so far is kept.
  std::function<bool(const RefineProgress&)> on_progress{};
  std::function<bool(const RefineUpdate&)> on_update{};
  std::function<bool(const RefinePass&)> on_pass{};
  std::function<void(const std::string&)> on_message{};  // what a person should know
  std::function<void(const RadiusTrial&)> on_trial{};
};

struct AdaptSummary {
  std::string replaced;              // the layer that was the last one
  std::string normalization;         // of its pixels: a name or numbers
  std::vector<std::string> classes;  // their names, or numbers
  double lambda = 0;
  std::optional<double> cross_validated;  // accuracy of the new last layer, where lambda was chosen so
  Quality head, end;                      // with the new last layer alone, and in the end
  std::vector<std::string> layers;        // that differ from the network as it was, the new one first
  std::vector<RefineUpdate> updates;      // of this call, in order
  int moves = 0, rejected = 0;
  std::int64_t feature_samples = 0;  // whose features were computed; 0: found
  double feature_seconds = 0, head_seconds = 0, seconds = 0;
  bool finished = true;  // false: stopped
  std::string reason;    // why it ended
  std::string model;     // the file that was written, where one was

  std::string report() const;
};

// Throws Error; the network is then as it was.
AdaptSummary adapt(Network& network, const Data& data, const AdaptSettings& settings = {});

// The same from file to file (run_files.h); the network is written to `files.output`, or NAME.adapted.onnx.
AdaptSummary adapt(const RunFiles& files, const AdaptSettings& settings = {});
AdaptSummary resume_adapt(const std::string& run_folder, const AdaptSettings& settings = {},
                          const GivenAnew& given = {}, const RunFiles& files = {});

}  // namespace lwsvm
