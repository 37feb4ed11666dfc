// What tests of the reader look at: its words about bad bytes, and what it has made of good ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/foreign_file.h"
#include "model/onnx_reader.h"

namespace lwsvm {

inline std::string reader_error(std::string_view bytes) {
  try {
    from_onnx_bytes(bytes, "test.onnx");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline std::vector<std::string> kinds(const Graph& graph) {
  std::vector<std::string> all;
  for (const Node& node : graph.nodes())
    all.emplace_back(node.is_input() ? "Input" : to_string(node.layer->kind()));
  return all;
}

inline std::vector<float> values_of(const Graph& graph, const std::string& node, std::size_t parameter) {
  const Parameter& found = graph.node(*graph.find(node)).parameters[parameter];
  const auto begin = graph.parameters().begin() + found.range.begin;
  return {begin, begin + found.range.size};
}

}  // namespace lwsvm
