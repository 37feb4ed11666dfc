// The margin matrix Delta of --delta FILE.csv.
//
// One line per row, C lines of C numbers; row = predicted class, column = true class. Commas, semicolons or
// spaces between the numbers; no header line. Numbers are finite and not negative, the diagonal is zero.
#pragma once

#include <filesystem>
#include <vector>

namespace lwsvm {

// Row-major: result[predicted * classes + true]. Throws Error naming file and line.
std::vector<float> read_margin_matrix(const std::filesystem::path& path, int classes);

}  // namespace lwsvm
