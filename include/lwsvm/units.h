// Times and sizes as people write them, and as the command line takes them.
#pragma once

#include <cstdint>
#include <string>

namespace lwsvm {

// Both throw Error, which begins with the name of the setting: parse_seconds("1h30m", "time-limit") is 5400.
double parse_seconds(const std::string& text, const std::string& setting);
std::uint64_t parse_size(const std::string& text, const std::string& setting);  // "4G", "512M": bytes

}  // namespace lwsvm
