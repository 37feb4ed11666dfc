#include "base/nearest.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace lwsvm {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment, row by row: before = row i-2, last = row i-1.
  std::vector<int> before(b.size() + 1);
  std::vector<int> last(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = last[j - 1] + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string nearest_word(std::string_view word, std::span<const std::string> known) {
  std::string best;
  int best_distance = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : known) {
    const int distance = edit_distance(word, candidate);
    // Of a very short word nothing must be left over: 'x' is not near to 'y'.
    if (distance < best_distance && distance < static_cast<int>(std::max(word.size(), candidate.size()))) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void fail_unknown(const char* place, std::string_view kind, std::string_view word,
                  std::span<const std::string> known) {
  const std::string near = nearest_word(word, known);
  if (near.empty()) fail(place, "unknown {} '{}'; known: {}", kind, word, fmt::join(known, ", "));
  fail(place, "unknown {} '{}'; did you mean '{}'? (known: {})", kind, word, near, fmt::join(known, ", "));
}

}  // namespace lwsvm
