// Sizes and times as people write them.
//
//   bytes      512M   4G   1.5GiB   1000        K, M, G, T are powers of 1024, with or without B or iB
//   durations  90s    10m  1h30m    1.5h   45   d, h, m, s, ms; a bare number is seconds
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lwsvm {

// `place` is what the Error names, say "--memory".
std::uint64_t parse_bytes(std::string_view text, const char* place);
double parse_duration(std::string_view text, const char* place);  // in seconds, finite and not negative

std::string format_bytes(double bytes);        // 12 B, 1.2 GiB
std::string format_duration(double seconds);   // 0.12s, 8.3s, 1m 23s, 2h 05m, 3d 04h
std::string format_count(std::int64_t count);  // 12,345

}  // namespace lwsvm
