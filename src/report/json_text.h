// JSON as the program prints it: on one line, and whatever the names in it are made of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lwsvm {

// File and layer names need not be UTF-8; JSON must be. What is not becomes U+FFFD.
template <typename Json>
std::string json_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lwsvm
