// Stopping from outside what takes long: for programs that hear of Ctrl-C, or of a closed window, on another
// thread than the one that works.
//
//   StopListener listener;                 // on any thread, around the work
//   std::thread worker([&] { summary = refine(network, data); });
//   ...
//   request_stop();                        // refine() comes back soon, with the best network so far
#pragma once

#include <stdexcept>

namespace lwsvm {

// What a call throws that was stopped before there was anything to give back: no error.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// While one lives, request_stop() is heard everywhere in the process; with the last one the request is
// forgotten.
class StopListener {
 public:
  StopListener();
  ~StopListener();
  StopListener(const StopListener&) = delete;
  StopListener& operator=(const StopListener&) = delete;
};

// Ends all calls that are under way, as Ctrl-C ends a command: train, refine and train_svm return what they
// have, with `finished` false; what has nothing yet throws Stopped. Safe from any thread.
void request_stop();

}  // namespace lwsvm
