// From the settings of the public API to what runs are told.
#pragma once

#include <string>

#include "base/error.h"
#include "base/messages.h"
#include "lwsvm/data.h"
#include "lwsvm/model.h"
#include "lwsvm/run_files.h"
#include "run/run_context.h"
#include "run/task.h"

namespace lwsvm {

run::TaskOptions task_options(const TaskSettings& settings, const DataSource& source = {});
run::PhotoOptions photo_options(const PhotoSettings& settings);
run::RunInput run_input(const Network& network, const Data& data);

// Hands what a run says to the caller's functions, where there are any.
class CallbackMessages final : public Messages {
 public:
  using OnMessage = std::function<void(const std::string&)>;

  explicit CallbackMessages(OnMessage on_message, OnWork on_work = {})
      : on_message_(std::move(on_message)), on_work_(std::move(on_work)) {}

  using Messages::line;
  void line(std::string_view text) override {
    if (on_message_) on_message_(std::string(text));
  }
  void warn(std::string_view text) override { line("warning: {}", text); }
  void progress(std::string_view what, std::uint64_t part, std::uint64_t whole) override {
    if (on_work_)
      on_work_(std::string(what), static_cast<std::int64_t>(part), static_cast<std::int64_t>(whole));
  }

 private:
  OnMessage on_message_;
  OnWork on_work_;
};

// Of a run by files; `messages` must outlive it.
run::RunContext context_of(const DataSource& source, int threads, Messages& messages,
                           std::vector<run::RunObserver*> observers);

// The part of a job that says where it begins and ends.
template <typename Job>
void take_files(const RunFiles& files, Job& job) {
  job.output_name = files.output_name;
  job.output = files.output;
  job.run_folder = files.run_folder;
}

template <typename Job>
void resume(const std::string& run_folder, const GivenAnew& given, Job& job) {
  if (run_folder.empty()) fail("resume", "which run? The name of its folder is empty");
  job.resume_folder = run_folder;
  job.run_folder.clear();
  job.given = given;
}

}  // namespace lwsvm
