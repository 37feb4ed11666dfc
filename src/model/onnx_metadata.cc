#include "model/onnx_metadata.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace lwsvm {
namespace {

// Nothing but the number.
template <typename T>
std::optional<T> number_in(const std::string& text) {
  T number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional<T>(number) : std::nullopt;
}

}  // namespace

void understand_metadata(ModelInfo& info) {
  const auto take = [&](const char* key, auto&& understand) {
    const auto found = info.metadata.find(key);
    if (found != info.metadata.end() && understand(found->second)) info.metadata.erase(found);
  };
  const auto take_text = [&](const char* key, std::string& text) {
    take(key, [&](const std::string& value) { return text = value, !value.empty(); });
  };
  take_text("lwsvm.arch", info.arch);
  take_text("lwsvm.data", info.data);
  take_text("lwsvm.input", info.input);
  take("lwsvm.lambda", [&](const std::string& value) {
    info.lambda = number_in<double>(value);
    return info.lambda.has_value();
  });
  take("lwsvm.classes", [&](const std::string& value) {
    info.classes = std::max(0, number_in<int>(value).value_or(0));
    return info.classes > 0;
  });
  take("lwsvm.class_names", [&](const std::string& value) {
    const auto names = nlohmann::json::parse(value, nullptr, false);
    if (!names.is_array() || names.empty()) return false;
    if (!std::all_of(names.begin(), names.end(), [](const auto& name) { return name.is_string(); }))
      return false;
    info.class_names = names.get<std::vector<std::string>>();
    return true;
  });
}

std::string noted_output(const ModelInfo& info) {
  const auto found = info.metadata.find(kOutputKey);
  return found == info.metadata.end() ? "" : found->second;
}

ImageSize noted_size(const ModelInfo& info) {
  constexpr int kLargestSide = 16384;
  const auto found = info.metadata.find(kPhotosKey);
  if (found == info.metadata.end()) return {};
  const char* text = found->second.c_str();
  ImageSize size;
  const bool known = std::sscanf(text, "resize=%*d crop=%dx%d", &size.height, &size.width) == 2 ||
                     std::sscanf(text, "stretch=%dx%d", &size.height, &size.width) == 2;
  const bool sane =
      size.height > 0 && size.height <= kLargestSide && size.width > 0 && size.width <= kLargestSide;
  return known && sane ? size : ImageSize{};
}

}  // namespace lwsvm
