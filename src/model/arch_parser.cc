// Recursive descent over
//
//   sequence = item { "-" item }
//   item     = word arguments | ("res" | "respad") "(" sequence ")" | "inception" "(" sequence { "|" sequence
//   } ")"
//
// where a word is letters and its arguments are numbers, "x" and option letters up to the next of - | ( ).
#include "model/arch_parser.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/nearest.h"
#include "model/arch.h"

namespace lwsvm {
namespace {

constexpr int kDeepestNesting = 32;
constexpr std::int64_t kLargestNumber = 1'000'000;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool ends_token(char c) {
  return c == '-' || c == '|' || c == '(' || c == ')';
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  ArchSequence parse() {
    ArchSequence sequence = parse_sequence(0);
    if (at_ < text_.size())
      fail_at(text_, at_, 1, fmt::format("nothing is open that this '{}' could close", text_[at_]));
    return sequence;
  }

 private:
  ArchSequence parse_sequence(int depth) {
    ArchSequence sequence;
    sequence.push_back(parse_item(depth));
    while (at_ < text_.size() && text_[at_] == '-') {
      ++at_;
      sequence.push_back(parse_item(depth));
    }
    return sequence;
  }

  ArchItem parse_item(int depth) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && !ends_token(text_[at_])) ++at_;
    if (at_ == begin) fail_at(text_, begin, 1, "a layer is missing here");

    ArchItem item;
    item.begin = begin;
    item.length = at_ - begin;
    token_ = std::string_view(text_).substr(begin, item.length);
    begin_ = begin;
    std::size_t letters = 0;
    while (letters < token_.size() && is_letter(token_[letters])) ++letters;
    item.word = token_.substr(0, letters);
    rest_ = token_.substr(letters);
    const bool opens = at_ < text_.size() && text_[at_] == '(';

    if (std::find(arch_words().begin(), arch_words().end(), item.word) == arch_words().end()) fail_word(item);
    if (item.word == "res" || item.word == "respad" || item.word == "inception") {
      parse_block(item, opens, depth);
    } else {
      parse_arguments(item);
      if (opens) fail_at(text_, at_, 1, fmt::format("'{}' takes no parentheses", item.word));
    }
    return item;
  }

  [[noreturn]] void fail_word(const ArchItem& item) const {
    std::vector<std::string> known = arch_words();
    if (item.begin == 0 && item.length == text_.size())
      for (const auto& built_in : built_in_archs()) known.push_back(built_in.name);
    std::string near = nearest_word(token_, known);
    if (near.empty() && !item.word.empty()) near = nearest_word(item.word, known);
    std::string problem = fmt::format("unknown token '{}'", token_);
    if (!near.empty())
      problem += fmt::format(", did you mean '{}'?", near);
    else
      problem += fmt::format("; {} can stand here", fmt::join(known, ", "));
    fail_at(text_, item.begin, item.length, problem);
  }

  void parse_block(ArchItem& item, bool opens, int depth) {
    if (!rest_.empty() || !opens)
      fail_at(text_, item.begin, item.length,
              fmt::format("write {}(...) around the layers of the block", item.word));
    if (depth >= kDeepestNesting)
      fail_at(text_, item.begin, item.length,
              fmt::format("blocks are nested more than {} deep", kDeepestNesting));
    const std::size_t open = at_++;
    item.branches.push_back(parse_sequence(depth + 1));
    while (at_ < text_.size() && text_[at_] == '|') {
      if (item.word != "inception")
        fail_at(text_, at_, 1, fmt::format("'{}' has one branch only", item.word));
      ++at_;
      item.branches.push_back(parse_sequence(depth + 1));
    }
    if (at_ >= text_.size()) fail_at(text_, open, 1, "this '(' is never closed");
    if (text_[at_] != ')')
      fail_at(text_, at_, 1, fmt::format("')' or '-' is expected here, not '{}'", text_[at_]));
    ++at_;
    if (at_ < text_.size() && !ends_token(text_[at_]))
      fail_at(text_, at_, 1, "'-' is missing before the next layer");
  }

  void parse_arguments(ArchItem& item) {
    const std::string& word = item.word;
    if (word == "conv") {
      item.width = take_number("convOxK: O outputs, windows of K x K, as conv12x5");
      take_x();
      item.height_taps = item.width_taps = take_number("convOxK: windows of K x K, as conv12x5");
      if (!rest_.empty() && rest_[0] == 'x') {
        take_x();
        item.width_taps = take_number("convOxHxW: windows of H x W, as conv12x3x5");
      }
      take_options(item, "spdg");
    } else if (word == "pool" || word == "avgpool") {
      item.height_taps = item.width_taps = take_number("poolK: windows of K x K, as pool2");
      item.stride = item.height_taps;
      take_options(item, "sp");
    } else if (word == "dense") {
      item.width = take_number("denseN: N outputs, as dense256");
    } else if (word == "maxout") {
      item.width = take_number("maxoutK: the largest of K, as maxout2");
      if (item.width < 2 || item.width > 255) fail_token("K of maxoutK is 2 to 255");
    } else if (word == "leaky") {
      item.number = take_decimal("leakyS: slope S for negative values, as leaky0.1");
    } else if (word == "dropout") {
      item.number = take_decimal("dropoutR: rate R, as dropout0.5");
      if (item.number >= 1) fail_token("the rate of dropout is less than 1");
    } else if (word == "relu" && rest_ == "6") {
      item.word = "relu6";
      rest_ = {};
    }
    if (!rest_.empty()) fail_token(fmt::format("'{}' does not belong to '{}'", rest_, word));
  }

  void take_options(ArchItem& item, std::string_view allowed) {
    while (!rest_.empty() && allowed.find(rest_[0]) != std::string_view::npos) {
      const char option = rest_[0];
      rest_.remove_prefix(1);
      const std::int64_t value =
          take_number(fmt::format("a number must follow '{}'", option), option == 'p' ? 0 : 1);
      switch (option) {
        case 's':
          item.stride = value;
          break;
        case 'p':
          item.padding = value;
          break;
        case 'd':
          item.dilation = value;
          break;
        default:
          item.groups = value;
          break;
      }
    }
  }

  std::int64_t take_number(const std::string& usage, std::int64_t min = 1) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error == std::errc::invalid_argument || value < 0 || (!rest_.empty() && !is_digit(rest_[0])))
      fail_token(usage);
    if (error != std::errc() || value > kLargestNumber)
      fail_token(fmt::format("numbers are at most {}", kLargestNumber));
    if (value < min) fail_token(fmt::format("0 is not possible; {}", usage));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  float take_decimal(const std::string& usage) {
    float value = 0;
    if (rest_.empty() || !(is_digit(rest_[0]) || rest_[0] == '.')) fail_token(usage);
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, std::chars_format::fixed);
    if (error != std::errc()) fail_token(usage);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  void take_x() {
    if (rest_.empty() || rest_[0] != 'x')
      fail_token("write convOxK: O outputs, windows of K x K, as conv12x5");
    rest_.remove_prefix(1);
  }

  [[noreturn]] void fail_token(const std::string& problem) const {
    fail_at(text_, begin_, token_.size(), fmt::format("token '{}': {}", token_, problem));
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::string_view token_, rest_;  // the token being read, and what of it is not yet understood
  std::size_t begin_ = 0;
};

}  // namespace

void fail_at(std::string_view text, std::size_t begin, std::size_t length, const std::string& problem) {
  const std::string marks = "^" + std::string(length > 1 ? length - 1 : 0, '~');
  const std::size_t indent = std::string_view("[arch] ").size() + begin;
  fail("arch", "{}: {}\n{}{}", text, problem, std::string(indent, ' '), marks);
}

const std::vector<std::string>& arch_words() {
  static const std::vector<std::string> words{"conv",    "bn",      "relu", "leaky",  "prelu",    "abs",
                                              "pool",    "avgpool", "gap",  "gmp",    "dense",    "maxout",
                                              "dropout", "id",      "res",  "respad", "inception"};
  return words;
}

ArchSequence parse_arch(const std::string& text) {
  if (text.empty())
    fail("arch", "the architecture is empty; try mnist, or conv12x5-relu-pool2-dense256-relu");
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] <= ' ' || text[i] > '~') {
      std::string shown = text;  // a control character would shift the mark below it
      std::replace_if(
          shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
      fail_at(shown, i, 1, "only letters, digits and - | ( ) . / belong here, no blanks");
    }
  return Parser(text).parse();
}

}  // namespace lwsvm
