// JSON from files that anybody may have written.
//
// nlohmann::json reads nested CBOR by recursion, and copies and writes every nested value so: a file of a
// megabyte of opening brackets would overflow the stack. It also throws at a CBOR list that claims to be
// longer than memory, though it was told not to throw. So whatever is nested deeper than anything of ours, or
// claims more than it has, is no JSON here.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

namespace lwsvm {

inline constexpr int kDeepestJson = 100;

// A discarded value (is_discarded()) if it is none; neither throws.
nlohmann::ordered_json read_json(std::string_view text);
nlohmann::json read_cbor(std::span<const std::uint8_t> bytes);

}  // namespace lwsvm
