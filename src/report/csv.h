// A log as comma-separated values (RFC 4180): one line per record, one column per key, in the order in which
// keys first appear.
//
// What a record does not have is an empty cell; so is null. Lists and objects (the settings) are JSON text in
// one cell.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lwsvm {

std::string to_csv(const std::vector<nlohmann::ordered_json>& records);

// In quotes where it must be.
std::string csv_cell(std::string_view text);

}  // namespace lwsvm
