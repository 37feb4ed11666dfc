#include "data/libsvm_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace lwsvm {
namespace {

constexpr std::string_view kSpace = " \t\r";

// The next word of the line, empty at its end.
std::string_view take_word(std::string_view& line) {
  const auto begin = line.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return line = {};
  line.remove_prefix(begin);
  const auto word = line.substr(0, line.find_first_of(kSpace));
  line.remove_prefix(word.size());
  return word;
}

template <typename T>
bool parse(std::string_view text, T& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_label(std::string_view text, std::int64_t& label) {
  if (parse(text, label)) return true;
  double value = 0;
  if (!parse(text, value) || value != std::floor(value) || std::abs(value) > 1e15) return false;
  label = static_cast<std::int64_t>(value);
  return true;
}

void parse_feature(std::string_view word, const std::string& name, std::int64_t line,
                   std::optional<std::int64_t> max_features, LibsvmData& data) {
  const auto colon = word.find(':');
  std::int64_t index = 0;
  float value = 0;
  if (colon == std::string_view::npos || !parse(word.substr(0, colon), index) ||
      !parse(word.substr(colon + 1), value))
    fail("libsvm", "{}:{}: '{}' is not index:value", name, line, word);
  if (index < 1 || index > std::numeric_limits<std::int32_t>::max())
    fail("libsvm", "{}:{}: index {}: indices begin at 1 and end at 2147483647", name, line, index);
  if (max_features && index > *max_features)
    fail("libsvm", "{}:{}: index {}: the training file has only {} features", name, line, index,
         *max_features);
  if (!std::isfinite(value))
    fail("libsvm", "{}:{}: feature {} is {}: it must be finite", name, line, index, value);
  const auto column = static_cast<std::int32_t>(index - 1);
  if (std::ssize(data.columns) > data.row_begin.back() && data.columns.back() >= column)
    fail("libsvm", "{}:{}: index {} after {}: indices must rise", name, line, index, data.columns.back() + 1);
  data.columns.push_back(column);
  data.values.push_back(value);
  data.width = std::max(data.width, index);
}

}  // namespace

LibsvmData read_libsvm(std::istream& stream, const std::string& name,
                       const std::vector<std::int64_t>* class_names,
                       std::optional<std::int64_t> max_features) {
  LibsvmData data;
  std::vector<std::int64_t> names;  // label of each sample, as in the file
  std::string text;
  for (std::int64_t number = 1; std::getline(stream, text); ++number) {
    std::string_view line(text);
    line = line.substr(0, line.find('#'));
    const auto word = take_word(line);
    if (word.empty()) continue;
    std::int64_t label = 0;
    if (!parse_label(word, label)) fail("libsvm", "{}:{}: label '{}' is not an integer", name, number, word);
    if (class_names && !std::binary_search(class_names->begin(), class_names->end(), label))
      fail("libsvm", "{}:{}: label {} is not one of the training file's", name, number, label);
    names.push_back(label);
    for (auto feature = take_word(line); !feature.empty(); feature = take_word(line))
      parse_feature(feature, name, number, max_features, data);
    data.row_begin.push_back(std::ssize(data.columns));
  }
  if (stream.bad()) fail("libsvm", "{}: cannot read: {}", name, std::strerror(errno));
  if (names.empty()) fail("libsvm", "{}: there are no samples in this file", name);

  if (class_names) {
    data.class_names = *class_names;
  } else {
    data.class_names = names;
    std::sort(data.class_names.begin(), data.class_names.end());
    data.class_names.erase(std::unique(data.class_names.begin(), data.class_names.end()),
                           data.class_names.end());
  }
  for (const std::int64_t label : names)
    data.labels.push_back(
        static_cast<std::int32_t>(std::lower_bound(data.class_names.begin(), data.class_names.end(), label) -
                                  data.class_names.begin()));
  return data;
}

LibsvmData read_libsvm(const std::filesystem::path& path, const std::vector<std::int64_t>* class_names,
                       std::optional<std::int64_t> max_features) {
  std::ifstream stream(path);
  if (!stream) fail("libsvm", "{}: cannot read: {}", path.string(), std::strerror(errno));
  return read_libsvm(stream, path.string(), class_names, max_features);
}

std::vector<float> LibsvmData::dense(std::int64_t at_width) const {
  if (at_width == 0) at_width = width;
  if (width > at_width) fail("libsvm", "the data has {} features, {} were expected", width, at_width);
  return SparseRows::dense(at_width);
}

}  // namespace lwsvm
