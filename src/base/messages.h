// What the library has to say to people, line by line: to whoever derives from this. By itself it is silence.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

namespace lwsvm {

class Messages {
 public:
  virtual ~Messages() = default;

  virtual void line(std::string_view /*text*/) {}
  virtual void warn(std::string_view /*text*/) {}  // of what a person should not miss
  // How far a piece of work is that has no display of its own; over when all is done.
  virtual void progress(std::string_view /*what*/, std::uint64_t /*done*/, std::uint64_t /*total*/) {}

  template <typename First, typename... Args>
  void line(fmt::format_string<First, Args...> text, First&& first, Args&&... args) {
    line(std::string_view(fmt::format(text, std::forward<First>(first), std::forward<Args>(args)...)));
  }
};

inline Messages& silent_messages() {
  static Messages silence;
  return silence;
}

}  // namespace lwsvm
