#include "base/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>

namespace lwsvm {
namespace {

using testing::HasSubstr;
using testing::Not;

// An environment variable for as long as this lives.
class WithVariable {
 public:
  WithVariable(const char* name, const char* value) : name_(name) {
    const char* old = std::getenv(name);
    had_ = old != nullptr;
    if (had_) old_ = old;
    if (value != nullptr) {
      ::setenv(name, value, 1);
    } else {
      ::unsetenv(name);
    }
  }
  ~WithVariable() {
    if (had_) {
      ::setenv(name_, old_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string old_;
};

std::string read_all(int descriptor) {
  std::string text;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(descriptor, buffer, sizeof(buffer))) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

// What `work` writes to a pipe.
template <typename Work>
std::string through_pipe(bool quiet, const Work& work) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  std::FILE* stream = ::fdopen(ends[1], "w");
  {
    Terminal terminal(stream, quiet);
    work(terminal);
  }
  std::fclose(stream);
  std::string text = read_all(ends[0]);
  ::close(ends[0]);
  return text;
}

// What `work` writes to a terminal of `columns` columns.
template <typename Work>
std::string through_terminal(int columns, bool quiet, const Work& work) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_GE(master, 0);
  ::grantpt(master);
  ::unlockpt(master);
  const int slave = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  EXPECT_GE(slave, 0);
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 25;
  ::ioctl(slave, TIOCSWINSZ, &size);
  termios settings{};
  ::tcgetattr(slave, &settings);
  ::cfmakeraw(&settings);
  ::tcsetattr(slave, TCSANOW, &settings);
  std::FILE* stream = ::fdopen(slave, "w");
  {
    Terminal terminal(stream, quiet);
    work(terminal);
  }
  std::fflush(stream);
  ::fcntl(master, F_SETFL, O_NONBLOCK);
  std::string text = read_all(master);
  std::fclose(stream);
  ::close(master);
  return text;
}

void work_a_little(Terminal& terminal) {
  Progress bar(terminal, "epoch 3/5", 100);
  for (std::uint64_t i = 1; i <= 50; ++i) {
    bar.update(i, "objective 0.25");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  terminal.line("a line");
}

TEST(Progress, PipeGetsOnlyLines) {
  EXPECT_EQ(through_pipe(false, work_a_little), "a line\n");
  EXPECT_EQ(through_pipe(true, work_a_little), "");
}

TEST(Progress, ControlCharactersFromOutsideNeverPass) {
  const std::string text = through_pipe(false, [](Terminal& terminal) {
    terminal.line("layer '\x1b[2J\x07\r\xc2\x9bname'");
    terminal.line("café {}", 5);
    terminal.line("{not a format}");
  });
  EXPECT_EQ(text, "layer '?[2J???name'\ncafé 5\n{not a format}\n");
}

TEST(Progress, WarningsAreHeardWhenQuiet) {
  EXPECT_EQ(through_pipe(true, [](Terminal& terminal) { terminal.warn("beware"); }), "warning: beware\n");
}

TEST(Progress, TerminalSeesTheBarAndItIsGoneBeforeALine) {
  const WithVariable term("TERM", "xterm");
  const std::string text = through_terminal(80, false, work_a_little);
  EXPECT_THAT(text, HasSubstr("epoch 3/5"));
  EXPECT_THAT(text, HasSubstr("objective 0.25"));
  EXPECT_THAT(text, HasSubstr(" left"));
  EXPECT_THAT(text, HasSubstr("\r\x1b[Ka line\n"));
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << "the bar is cleared at the end";
}

TEST(Progress, RedrawsAtMostTenTimesASecond) {
  const WithVariable term("TERM", "xterm");
  double seconds = 0;
  const std::string text = through_terminal(80, false, [&](Terminal& terminal) {
    Progress bar(terminal, "label", 100000000);
    for (std::uint64_t i = 0; i < 300000; ++i) bar.update(i);
    while (bar.elapsed() < 0.25) bar.update(300000);
    seconds = bar.elapsed();
  });
  std::size_t draws = 0;
  for (auto at = text.find("label"); at != std::string::npos; at = text.find("label", at + 1)) ++draws;
  EXPECT_GE(draws, 1U);
  EXPECT_LE(static_cast<double>(draws), 10 * seconds + 1);
}

TEST(Progress, NeverWiderThanTheTerminal) {
  const WithVariable term("TERM", "xterm");
  const WithVariable no_colour("NO_COLOR", "1");
  for (const int columns : {1, 5, 20, 40, 79, 200}) {
    const std::string text = through_terminal(columns, false, [](Terminal& terminal) {
      Progress bar(terminal, "epoch 12/100", 1000, 10);
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      bar.update(500, "objective 0.25, größte Lücke 0.1");
    });
    std::size_t start = 0;
    while (start < text.size()) {
      auto end = text.find('\r', start);
      if (end == std::string::npos) end = text.size();
      std::string line = text.substr(start, end - start);
      if (line.ends_with("\x1b[K")) line.resize(line.size() - 3);
      EXPECT_LE(display_width(line), std::max(0, columns - 1)) << line;
      EXPECT_THAT(line, Not(HasSubstr("\x1b"))) << "NO_COLOR";
      start = end + 1;
    }
  }
}

TEST(Progress, NoBarWhenQuietOrDumb) {
  {
    const WithVariable term("TERM", "xterm");
    EXPECT_EQ(through_terminal(80, true, work_a_little), "");
  }
  const WithVariable term("TERM", "dumb");
  EXPECT_EQ(through_terminal(80, false, work_a_little), "a line\n");
}

TEST(Progress, InnerBarGivesWayToTheOuter) {
  const WithVariable term("TERM", "xterm");
  const std::string text = through_terminal(80, false, [](Terminal& terminal) {
    Progress outer(terminal, "outer", 10);
    {
      Progress inner(terminal, "inner", 10);
      std::this_thread::sleep_for(std::chrono::milliseconds(110));
      outer.update(1);
      inner.update(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    outer.update(2);
  });
  EXPECT_LT(text.find("inner"), text.find("outer"));
  EXPECT_NE(text.find("outer"), std::string::npos);
}

TEST(Progress, ManyThreadsMayTalk) {
  const std::string text = through_pipe(false, [](Terminal& terminal) {
    Progress bar(terminal, "x", 1000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (std::uint64_t i = 0; i < 50; ++i) {
          bar.update(i);
          terminal.line("whole");
        }
      });
    }
    for (auto& thread : threads) thread.join();
  });
  std::string expected;
  for (int i = 0; i < 200; ++i) expected += "whole\n";
  EXPECT_EQ(text, expected);
}

TEST(RenderBar, HasItsWidthAndGrows) {
  for (const bool unicode : {false, true}) {
    std::string last;
    for (int i = 0; i <= 100; ++i) {
      const std::string bar = render_bar(i / 100.0, 20, unicode);
      EXPECT_EQ(display_width(bar), 20);
      last = bar;
    }
    EXPECT_EQ(render_bar(2.0, 20, unicode), last);
    EXPECT_EQ(render_bar(-1.0, 20, unicode), render_bar(0.0, 20, unicode));
  }
  EXPECT_EQ(render_bar(0.5, 12, false), "[#####.....]");
  EXPECT_EQ(render_bar(0.5, 3, true), "█▌ ");
}

TEST(Terminal, BlocksOnlyInAUtf8Locale) {
  const WithVariable all("LC_ALL", "C");
  EXPECT_FALSE(Terminal(stderr).unicode());
  const WithVariable utf8("LC_ALL", "C.UTF-8");
  EXPECT_TRUE(Terminal(stderr).unicode());
}

}  // namespace
}  // namespace lwsvm
