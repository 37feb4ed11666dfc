#include "base/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"

namespace lwsvm {
namespace {

constexpr double kLargestBytes = 0x1.0p62;

// Takes a plain decimal number off the front; false if there is none. from_chars does not depend on the
// locale.
bool take_number(std::string_view& text, double& value) {
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) return false;
  const auto [end, code] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (code != std::errc() || !std::isfinite(value)) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
}

// Takes letters off the front, in lower case.
std::string take_word(std::string_view& text) {
  std::string word;
  while (!text.empty() && lower(text[0]) >= 'a' && lower(text[0]) <= 'z') {
    word += lower(text[0]);
    text.remove_prefix(1);
  }
  return word;
}

double seconds_of(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 10> kUnits = {{{"ms", 1e-3},
                                                                           {"s", 1},
                                                                           {"sec", 1},
                                                                           {"m", 60},
                                                                           {"min", 60},
                                                                           {"h", 3600},
                                                                           {"hour", 3600},
                                                                           {"hours", 3600},
                                                                           {"d", 86400},
                                                                           {"days", 86400}}};
  for (const auto& [name, seconds] : kUnits) {
    if (name == unit) return seconds;
  }
  return 0;
}

}  // namespace

std::uint64_t parse_bytes(std::string_view text, const char* place) {
  std::string_view rest = text;
  double value = 0;
  skip_spaces(rest);
  const bool has_number = take_number(rest, value);
  skip_spaces(rest);
  const std::string unit = take_word(rest);
  skip_spaces(rest);
  double factor = 1;
  bool known = unit.empty() || unit == "b";
  constexpr std::string_view kLetters = "kmgt";
  if (const auto power = unit.empty() ? kLetters.npos : kLetters.find(unit[0]); power != kLetters.npos) {
    const std::string_view tail = std::string_view(unit).substr(1);
    known = tail.empty() || tail == "b" || tail == "ib";
    factor = std::ldexp(1.0, 10 * (static_cast<int>(power) + 1));
  }
  if (!has_number || !known || !rest.empty()) {
    fail(place, "'{}' is not a size; write for example 512M or 4G", text);
  }
  if (value * factor > kLargestBytes) fail(place, "'{}' is more than any machine has", text);
  return static_cast<std::uint64_t>(std::llround(value * factor));
}

double parse_duration(std::string_view text, const char* place) {
  std::string_view rest = text;
  double seconds = 0;
  double last_unit = HUGE_VAL;  // units must go down: 1h30m, not 30m1h or 5m5m
  skip_spaces(rest);
  bool good = !rest.empty();
  bool first = true;
  while (good && !rest.empty()) {
    double value = 0;
    good = take_number(rest, value);
    skip_spaces(rest);
    const std::string unit = take_word(rest);
    skip_spaces(rest);
    const double factor = unit.empty() && first && rest.empty() ? 1 : seconds_of(unit);
    good = good && factor > 0 && factor < last_unit;
    last_unit = factor;
    seconds += value * factor;
    first = false;
  }
  if (!good || !std::isfinite(seconds)) {
    fail(place, "'{}' is not a duration; write for example 90s, 10m or 1h30m", text);
  }
  return seconds;
}

std::string format_bytes(double bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  // 1023.95 would print as 1024.0 of the smaller unit
  while (std::abs(bytes) >= (unit == 0 ? 1023.5 : 1023.95) && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  if (seconds < 0) return "-" + format_duration(-seconds);
  if (seconds < 0.995) return fmt::format("{:.2f}s", seconds);
  if (seconds < 9.95) return fmt::format("{:.1f}s", seconds);
  if (seconds < 59.5) return fmt::format("{:.0f}s", seconds);
  if (seconds > 1e15) return "?";
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{}m {:02}s", whole / 60, whole % 60);
  const auto minutes = static_cast<std::int64_t>(std::llround(seconds / 60));
  if (minutes < 1440) return fmt::format("{}h {:02}m", minutes / 60, minutes % 60);
  const auto hours = static_cast<std::int64_t>(std::llround(seconds / 3600));
  return fmt::format("{}d {:02}h", hours / 24, hours % 24);
}

std::string format_count(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t start = count < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > start + 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

}  // namespace lwsvm
