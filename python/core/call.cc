#include "call.h"

#include <chrono>
#include <exception>
#include <thread>

#include "lwsvm/stop.h"

namespace lwsvm::python {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};  // for signals

}  // namespace

void Call::run(const std::function<void()>& work) {
  const StopListener listener;
  std::exception_ptr failure;
  {
    const py::gil_scoped_release release;
    std::thread worker([&] {
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      done_ = true;
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    wait_for_work(lock);
    lock.unlock();
    worker.join();
  }
  if (raised_) throw py::error_already_set(std::move(*raised_));
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const Stopped& stopped) {
    PyErr_SetString(PyExc_KeyboardInterrupt, stopped.what());
    throw py::error_already_set();
  }
}

void Call::wait_for_work(std::unique_lock<std::mutex>& lock) {
  while (!done_) {
    const bool woken = changed_.wait_for(lock, kBetweenLooks, [this] { return done_ || question_; });
    if (!woken) {
      lock.unlock();
      look_for_signals();
      lock.lock();
    } else if (question_) {
      const std::function<bool()>& question = *question_;
      lock.unlock();
      const bool answer = answer_to(question);
      lock.lock();
      answer_ = answer;
      question_ = nullptr;
      changed_.notify_all();
    }
  }
}

bool Call::ask(const std::function<bool()>& question) {
  std::unique_lock lock(mutex_);
  if (stop_) return false;
  question_ = &question;
  changed_.notify_all();
  changed_.wait(lock, [this] { return question_ == nullptr; });
  if (!answer_) stop_ = true;
  return !stop_;
}

void Call::look_for_signals() {
  const py::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() == 0) return;
  take_exception(py::error_already_set());
  request_stop();
}

bool Call::answer_to(const std::function<bool()>& question) {
  const py::gil_scoped_acquire acquire;
  try {
    const bool answer = question();
    look_for_signals();
    return answer;
  } catch (py::error_already_set& exception) {
    const bool was_interrupt = exception.matches(PyExc_KeyboardInterrupt);
    take_exception(std::move(exception));
    if (was_interrupt) request_stop();
    return was_interrupt;  // then the work stops by itself, and keeps what it has
  } catch (const std::exception& exception) {
    PyErr_SetString(PyExc_RuntimeError, exception.what());
    take_exception(py::error_already_set());
    return false;
  }
}

void Call::take_exception(py::error_already_set exception) {
  const bool first_interrupt = exception.matches(PyExc_KeyboardInterrupt) && interrupts_++ == 0;
  if (!first_interrupt && !raised_) raised_.emplace(std::move(exception));
}

}  // namespace lwsvm::python
