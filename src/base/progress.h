// What a person sees while the program works: lines of chatter, and a live bar on a terminal.
//
//   Terminal terminal(stderr, quiet);
//   Progress bar(terminal, "epoch 3/5", batches);
//   for (...) bar.update(done, fmt::format("objective {:.4f}", objective));
//   terminal.line("epoch 3  objective 0.3012");      // clears the bar, prints, draws the bar again
//
//   epoch 3/5 ███████████▌            48%  12s, 13s left  objective 0.3012
//
// The bar appears only on a terminal, at most 10 times a second, and is gone when Progress ends. In a file or
// a pipe there are only the lines, without control characters. Blocks where the locale is UTF-8, ASCII
// elsewhere; colour unless NO_COLOR is set. All functions may be called from several threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/messages.h"

namespace lwsvm {

class Progress;

class Terminal final : public Messages {
 public:
  explicit Terminal(std::FILE* stream = stderr, bool quiet = false);
  ~Terminal() override;
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Nothing when quiet. Control characters (they may come from a foreign file's layer names) are shown as
  // '?'.
  void line(std::string_view text) override;
  using Messages::line;
  void warn(std::string_view text) override;  // "warning: ...", also when quiet
  void progress(std::string_view what, std::uint64_t done, std::uint64_t total) override;  // a bar

  bool quiet() const { return quiet_; }
  bool live() const { return live_; }  // whether bars are shown
  bool unicode() const { return unicode_; }

 private:
  friend class Progress;

  void print(std::string_view text);
  void clear_bar();  // with mutex_ held, like draw_bar
  void draw_bar();
  int width() const;

  std::FILE* stream_;
  bool quiet_;
  bool live_ = false;
  bool unicode_ = false;
  bool colour_ = false;
  std::mutex mutex_;
  Progress* current_ = nullptr;  // the innermost bar
  bool drawn_ = false;
  std::unique_ptr<Progress> own_bar_;  // of progress()
};

class Progress {
 public:
  // total 0: not known. `start`: done before this began (resuming), left out of the speed.
  Progress(Terminal& terminal, std::string_view label, std::uint64_t total, std::uint64_t start = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done, std::string_view note = {});
  bool due() const;  // whether update() would draw: lets a caller skip making an expensive note

  double elapsed() const;  // seconds

 private:
  friend class Terminal;
  using Clock = std::chrono::steady_clock;

  std::string render(int columns) const;

  Terminal& terminal_;
  Progress* outer_;
  std::string label_;
  std::string note_;
  std::uint64_t total_;
  std::uint64_t start_;
  std::uint64_t done_;
  Clock::time_point begin_;
  std::atomic<Clock::rep> next_draw_;
};

// For tests: the bar as text of at most `columns` characters, without colour.
std::string render_bar(double fraction, int columns, bool unicode);
int display_width(std::string_view utf8);             // code points
std::string without_controls(std::string_view text);  // '?' for each control character but \n and \t

}  // namespace lwsvm
