#include "base/progress.h"

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/units.h"

namespace lwsvm {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval(100);
constexpr int kLargestBar = 30;
constexpr int kSmallestBar = 8;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// From the environment, not from setlocale(): the program itself stays in the "C" locale so that numbers
// print alike.
bool locale_is_utf8() {
  const locale_t locale = ::newlocale(LC_CTYPE_MASK, "", static_cast<locale_t>(nullptr));
  if (locale == static_cast<locale_t>(nullptr)) return false;
  const bool result = std::strcmp(::nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
  ::freelocale(locale);
  return result;
}

// The first `columns` code points.
std::string cut(const std::string& text, int columns) {
  int seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
    if (seen++ == columns) return text.substr(0, i);
  }
  return text;
}

std::string on_one_line(std::string_view text) {
  std::string result = without_controls(text);
  std::replace(result.begin(), result.end(), '\n', ' ');
  std::replace(result.begin(), result.end(), '\t', ' ');
  return result;
}

}  // namespace

int display_width(std::string_view utf8) {
  return static_cast<int>(std::count_if(
      utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string without_controls(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080..U+009F: terminals obey some of them
      result += '?';
      ++i;
    } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      result += '?';
    } else {
      result += text[i];
    }
  }
  return result;
}

std::string render_bar(double fraction, int columns, bool unicode) {
  fraction = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  std::string bar;
  if (!unicode) {
    const int full = static_cast<int>(fraction * (columns - 2));
    for (int i = 0; i < columns - 2; ++i) bar += i < full ? '#' : '.';
    return "[" + bar + "]";
  }
  constexpr std::array<const char*, 8> kEighths = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(fraction * columns * 8);
  for (int i = 0; i < columns; ++i) {
    bar += eighths >= 8 * (i + 1) ? "█" : kEighths[static_cast<std::size_t>(std::max(0, eighths - 8 * i))];
  }
  return bar;
}

Terminal::Terminal(std::FILE* stream, bool quiet) : stream_(stream), quiet_(quiet) {
  const char* kind = std::getenv("TERM");
  const bool capable = ::isatty(::fileno(stream)) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
  live_ = capable && !quiet;
  unicode_ = locale_is_utf8();
  colour_ = capable && !is_set("NO_COLOR");
}

Terminal::~Terminal() = default;

void Terminal::line(std::string_view text) {
  if (!quiet_) print(text);
}

void Terminal::warn(std::string_view text) {
  print("warning: " + std::string(text));
}

void Terminal::progress(std::string_view what, std::uint64_t done, std::uint64_t total) {
  if (done >= total) return own_bar_.reset();
  if (!own_bar_) own_bar_ = std::make_unique<Progress>(*this, what, total);
  own_bar_->update(done);
}

void Terminal::print(std::string_view text) {
  const std::lock_guard lock(mutex_);
  const std::string whole = without_controls(text) + "\n";
  clear_bar();
  std::fwrite(whole.data(), 1, whole.size(), stream_);
  draw_bar();
  std::fflush(stream_);
}

int Terminal::width() const {
  winsize size{};
  if (::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  if (const char* columns = std::getenv("COLUMNS")) {
    if (const int value = std::atoi(columns); value > 0) return value;
  }
  return 80;
}

void Terminal::clear_bar() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stream_);
  drawn_ = false;
}

void Terminal::draw_bar() {
  if (!live_ || current_ == nullptr) return;
  const std::string bar = current_->render(width() - 1);  // a full last column would wrap
  std::fputs("\r", stream_);
  std::fwrite(bar.data(), 1, bar.size(), stream_);
  std::fputs("\x1b[K", stream_);
  drawn_ = true;
}

Progress::Progress(Terminal& terminal, std::string_view label, std::uint64_t total, std::uint64_t start)
    : terminal_(terminal),
      label_(on_one_line(label)),
      total_(total),
      start_(start),
      done_(start),
      begin_(Clock::now()),
      // The first draw waits too: work that is over at once shows no bar.
      next_draw_((begin_ + kRedrawInterval).time_since_epoch().count()) {
  const std::lock_guard lock(terminal_.mutex_);
  outer_ = terminal_.current_;
  terminal_.current_ = this;
}

Progress::~Progress() {
  const std::lock_guard lock(terminal_.mutex_);
  terminal_.clear_bar();
  terminal_.current_ = outer_;
  if (terminal_.live_) std::fflush(terminal_.stream_);
}

double Progress::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

bool Progress::due() const {
  return terminal_.live_ &&
         Clock::now().time_since_epoch().count() >= next_draw_.load(std::memory_order_relaxed);
}

void Progress::update(std::uint64_t done, std::string_view note) {
  if (!due()) return;
  const std::lock_guard lock(terminal_.mutex_);
  next_draw_ = (Clock::now() + kRedrawInterval).time_since_epoch().count();
  done_ = done;
  note_ = on_one_line(note);
  if (terminal_.current_ != this) return;
  terminal_.draw_bar();
  std::fflush(terminal_.stream_);
}

std::string Progress::render(int columns) const {
  const double seconds = elapsed();
  std::string times = format_duration(seconds);
  std::string percent;
  double fraction = 0;
  if (total_ > 0) {
    fraction = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    percent = fmt::format(" {:3.0f}%", std::floor(100 * fraction));
    if (done_ > start_ && total_ >= done_) {
      const double left = seconds * static_cast<double>(total_ - done_) / static_cast<double>(done_ - start_);
      times += fmt::format(", {} left", format_duration(left));
    }
  } else {
    percent = " " + format_count(static_cast<std::int64_t>(done_));
  }
  const std::string tail = note_.empty() ? percent + "  " + times : percent + "  " + times + "  " + note_;
  const int room = columns - display_width(label_) - display_width(tail) - 1;
  // Narrow terminals: the bar is what can be spared.
  if (total_ == 0 || room < kSmallestBar) return cut(label_ + tail, columns);
  const std::string bar = render_bar(fraction, std::min(room, kLargestBar), terminal_.unicode_);
  if (!terminal_.colour_) return label_ + " " + bar + tail;
  return label_ + " \x1b[36m" + bar + "\x1b[0m" + tail;
}

}  // namespace lwsvm
