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

namespace lwsvm {

// While a move is under way.
struct RefineProgress {
  int pass = 0;
  std::string layer;                     // "sweep": all of them
  double fraction = 0;                   // of a sweep
  int epoch = 0;                         // of a layer's solve
  double primal = 0, dual = 0, gap = 0;  // of a layer's solve: estimates
};

// A move that has ended: the update of one layer, or a sweep over all.
struct RefineUpdate {
  int pass = 0;
  std::string layer;  // "sweep": all of them
  std::string form;   // of the dual state: exact, labels, factored, explicit; or sweep
  bool accepted = false;
  std::string reason;            // why it ended, or was rejected
  double before = 0, after = 0;  // objective; the same if it was rejected
  double gap = 0;                // duality gap of a layer's solve
  double train_accuracy = 0;
  std::optional<double> val_accuracy;
  double seconds = 0;
};

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
  std::optional<int> passes{};    // absent: 10, or with a time limit any number
  std::optional<int> patience{};  // absent: 12 moves (1 pass with layers), or with a time limit any number
  double gap = 0.4;               // relative, at which a layer's solve ends
  int max_epochs = 50;            // of one layer's solve
  int batch = 200;
  double time_limit = 0;                          // seconds of everything; 0: none
  std::uint64_t memory = std::uint64_t{4} << 30;  // that an open layer may take, in bytes
  std::string mode = "standard";                  // or paper
  std::string search = "auto";                    // labels, auto or full
  std::string keep = "best";                      // or last
  std::uint64_t seed = 0;
  int threads = 0;  // 0: all cores; the result is the same

  // These return false to stop; the best network so far is kept.
  std::function<bool(const RefineProgress&)> on_progress{};
  std::function<bool(const RefineUpdate&)> on_update{};
  std::function<void(const std::string&)> on_message{};  // what a person should know
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

}  // namespace lwsvm
