// An architecture string as a tree of items, each with its place in the text. Knows the grammar, not the
// layers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lwsvm {

struct ArchItem;
using ArchSequence = std::vector<ArchItem>;

// One layer or block. Which fields mean something depends on the word.
struct ArchItem {
  std::string word;       // "conv", "relu", "res", ...
  std::size_t begin = 0;  // where its token lies in the text
  std::size_t length = 0;
  std::int64_t width = 0;                        // outputs of a convolution or dense layer; K of maxoutK
  std::int64_t height_taps = 1, width_taps = 1;  // the window
  std::int64_t stride = 1, dilation = 1, groups = 1;
  std::optional<std::int64_t> padding;  // on every side; absent: the layer's default
  float number = 0;                     // leaky: the slope; dropout: the rate
  std::vector<ArchSequence> branches;   // res: one, inception: several
};

// A line of the text with the token underlined. Throws always.
[[noreturn]] void fail_at(std::string_view text, std::size_t begin, std::size_t length,
                          const std::string& problem);

ArchSequence parse_arch(const std::string& text);

// The words that an item may begin with.
const std::vector<std::string>& arch_words();

}  // namespace lwsvm
