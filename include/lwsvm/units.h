// Times, sizes and numbers as people write them, and as the command line takes them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lwsvm {

// A time: seconds as a number, or a text such as "1h30m". A text that is none is an Error of whoever is given
// it.
class TimeSpan {
 public:
  TimeSpan() = default;  // none
  template <typename Number>
  requires std::is_arithmetic_v<Number> TimeSpan(Number seconds)
      : TimeSpan(text_of(static_cast<double>(seconds))) {}
  TimeSpan(const char* text) : text_(text) {}
  TimeSpan(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }  // empty: none

 private:
  static std::string text_of(double seconds);  // no less than a millisecond: 0 is none

  std::string text_;
};

// A number of bytes, or a text such as "4G" or "512M".
class ByteCount {
 public:
  template <std::integral Number>
  ByteCount(Number bytes) : text_(std::to_string(bytes)) {}
  ByteCount(const char* text) : text_(text) {}
  ByteCount(std::string text) : text_(std::move(text)) {}

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// These throw Error, which begins with the name of the setting: parse_seconds("1h30m", "time-limit") is 5400.
double parse_seconds(const std::string& text, const std::string& setting);
std::uint64_t parse_size(const std::string& text, const std::string& setting);        // "4G", "512M": bytes
std::vector<double> parse_list(const std::string& text, const std::string& setting);  // "0.49,0.48,0.45"
// Of a regulariser: a positive number. Absent: "" or "auto".
std::optional<double> parse_lambda(const std::string& text, const std::string& setting);

}  // namespace lwsvm
