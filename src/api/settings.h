// From the settings of the public API to what runs are told.
#pragma once

#include <functional>
#include <string>

#include "base/messages.h"
#include "lwsvm/data.h"
#include "lwsvm/model.h"
#include "run/run_context.h"
#include "run/task.h"

namespace lwsvm {

run::TaskOptions task_options(const TaskSettings& settings);
// Seconds as --time-limit has them, no less than a millisecond: 0 would be no limit. Empty: none.
std::string limit_text(double seconds);
run::RunInput run_input(const Network& network, const Data& data);

// Hands what a run says to the caller's function, if there is one.
class CallbackMessages final : public Messages {
 public:
  explicit CallbackMessages(std::function<void(const std::string&)> callback)
      : callback_(std::move(callback)) {}

  using Messages::line;
  void line(std::string_view text) override {
    if (callback_) callback_(std::string(text));
  }
  void warn(std::string_view text) override { line("warning: {}", text); }

 private:
  std::function<void(const std::string&)> callback_;
};

}  // namespace lwsvm
