// LW-SVM: lowers a network's objective without a learning rate, in moves that lower it or are taken back.
//
//   Network network = Network::load("theirs.onnx");
//   RefineSummary summary = refine(network, Data::load("mnist"));
//   std::cout << summary.full_report();
//   network.save("better.onnx");
//
// `lwsvm refine --help` says what each setting means, and states every stopping rule as a formula.
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

struct RefineSettings {
  TaskSettings task{};
  PixelSettings pixels{};
  std::string layers = "all";      // or names separated by commas, with * and ? as in a shell
  std::optional<double> lambda{};  // absent: the network's, else one that fits it
  bool search_lambda = false;      // choose lambda by validation accuracy
  std::string centre{};  // of the regulariser: start, zero, an ONNX file; empty: as the network remembers,
                         // else zero for networks of lwsvm and start for others
  std::optional<double> mu{};     // fixes the proximal weight; absent: adapted
  std::string moves = "auto";     // auto, layers or sweeps
  std::optional<int> passes{};    // absent: 10, of few samples more; with a time limit any number
  std::optional<int> patience{};  // absent: 12 moves (1 pass with layers), or with a time limit any number
  double gap = 0.4;               // relative, at which a layer's solve ends
  int max_epochs = 50;            // of one layer's solve
  int batch = 200;
  TimeSpan time_limit{};          // of everything: 90, or "1h30m"; 0: none
  ByteCount memory = "4G";        // that a move may take; sweeps that would take more are left out
  std::string mode = "standard";  // or paper
  std::string search = "auto";    // labels, auto or full
  std::string keep = "best";      // or last
  std::uint64_t seed = 0;
  int threads = 0;  // 0: all cores; the result is the same

  // These return false to stop; the best network so far is kept.
  std::function<bool(const RefineProgress&)> on_progress{};
  std::function<bool(const RefineUpdate&)> on_update{};
  std::function<bool(const RefinePass&)> on_pass{};
  std::function<void(const std::string&)> on_message{};  // what a person should know
  std::function<void(const RadiusTrial&)> on_trial{};
};

struct RefineSummary {
  Quality start, end;
  std::vector<RefineUpdate> updates;  // of this call, in order
  int moves = 0, rejected = 0;        // a resumed run counts the earlier ones too
  int rises = 0;                      // of the objective; always 0, but counted
  int passes = 0;
  double seconds = 0;
  std::uint64_t dual_bytes = 0;  // the maximum that an update's dual state took
  bool finished = true;          // false: stopped
  std::string reason;            // why it ended
  std::string kept;              // which network was kept
  double lambda = 0;
  std::string centre;                          // of the regulariser: zero or start
  std::optional<std::int64_t> judged_samples;  // that the objective was taken over; absent: all
  std::string time_limit;                      // if the time was up: what it was
  std::string model;                           // the file that was written, where one was

  std::string brief_report() const;  // one line
  std::string full_report() const;   // start, every update, end and why, as a table
};

// Throws Error; the network is then as it was.
RefineSummary refine(Network& network, const Data& data, const RefineSettings& settings = {});

// The same from file to file (run_files.h); the network is written to `files.output`, or NAME.refined.onnx.
RefineSummary refine(const RunFiles& files, const RefineSettings& settings = {});
RefineSummary resume_refine(const std::string& run_folder, const RefineSettings& settings = {},
                            const GivenAnew& given = {}, const RunFiles& files = {});

}  // namespace lwsvm
