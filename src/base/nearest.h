// The known word nearest to a misspelt one, for messages: "unknown solver 'adma'; did you mean 'adam'?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lwsvm {

char lower(char c);  // of A to Z, whatever the locale

// Insertions, deletions, replacements and swaps of neighbours, each 1; upper and lower case are the same.
int edit_distance(std::string_view a, std::string_view b);

// "" when nothing is near: more than a third of the word's letters are wrong (at least 1 may be). First of
// equals.
std::string nearest_word(std::string_view word, std::span<const std::string> known);

// Throws Error: [solver] unknown solver 'adma'; did you mean 'adam'? (known: adagrad, adam, nesterov)
[[noreturn]] void fail_unknown(const char* place, std::string_view kind, std::string_view word,
                               std::span<const std::string> known);

}  // namespace lwsvm
