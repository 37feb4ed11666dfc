// A call from Python into C++ that takes long.
//
// The work is done on a thread of its own, without the interpreter lock; meanwhile the caller's thread waits,
// and does what only it may do: it looks for signals, and runs the Python functions that the work wants to be
// called. So Ctrl-C is heard whatever C++ is doing, other Python threads go on, and callbacks find themselves
// on the thread that made the call, as everybody expects.
//
//   Call call;
//   settings.on_update = [&](const RefineUpdate& update) { return call.ask([&] { return
//   callback(to_dict(update)); }); }; call.run([&] { summary = refine(network, data, settings); });
#pragma once

#include <pybind11/pybind11.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>

namespace lwsvm::python {

namespace py = pybind11;

class Call {
 public:
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // With the interpreter lock; `work` runs without it and touches no Python object. At the first Ctrl-C the
  // work is asked to stop and what it comes to is kept; a second raises KeyboardInterrupt when it has come
  // back, as does the first if there was nothing to keep. What a callback or a signal handler raised is
  // raised here.
  void run(const std::function<void()>& work);

  // From inside the work: `question` on the caller's thread, with the interpreter lock. False is a wish to
  // stop; so is an exception.
  bool ask(const std::function<bool()>& question);

  bool interrupted() const { return interrupts_ > 0; }  // by Ctrl-C

 private:
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  void look_for_signals();
  bool answer_to(const std::function<bool()>& question);
  void take_exception(py::error_already_set exception);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  const std::function<bool()>* question_ = nullptr;  // that waits for its answer
  bool answer_ = true;
  bool stop_ = false;  // an answer was false
  int interrupts_ = 0;
  std::optional<py::error_already_set> raised_;
};

}  // namespace lwsvm::python
