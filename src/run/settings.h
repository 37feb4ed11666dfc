// What a run folder remembers of a command's options. Each options struct names them once,
//
//   template <typename Self, typename Visit>
//   static void fields(Self& self, const Visit& visit) { visit("arch", self.arch); ... }
//
// and is written and read through that list. What is named with a third argument is left out where it has
// that value.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace lwsvm::run {

template <typename Options>
nlohmann::json settings_of(const Options& options) {
  nlohmann::json settings;
  const auto put = [&]<typename T>(const char* name, const T& value, const auto&... left_out) {
    if ((... || (value == left_out))) return;
    if constexpr (requires { value.has_value(); })
      settings[name] = value ? nlohmann::json(*value) : nlohmann::json();
    else
      settings[name] = value;
  };
  Options::fields(options, put);
  return settings;
}

// Throws json's exceptions where a field is missing or of another type.
template <typename Options>
void take_settings(const nlohmann::json& settings, Options& options) {
  const auto take = [&]<typename T>(const char* name, T& value, const auto&... left_out) {
    if (sizeof...(left_out) > 0 && !settings.contains(name)) {
      ((value = left_out), ...);
      return;
    }
    const nlohmann::json& stored = settings.at(name);
    if constexpr (requires { value.has_value(); }) {
      value.reset();
      if (!stored.is_null()) value = stored.get<typename T::value_type>();
    } else {
      stored.get_to(value);
    }
  };
  Options::fields(options, take);
}

}  // namespace lwsvm::run
