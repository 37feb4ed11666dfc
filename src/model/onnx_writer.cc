// ONNX files: a graph written anew, or put into the file that it came from; ModelInfo to metadata.
#include "model/onnx_writer.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/version.h"
#include "model/onnx_export.h"
#include "model/onnx_source.h"

namespace lwsvm {
namespace {

void write_metadata(const ModelInfo& info, onnx::ModelProto& proto) {
  std::map<std::string, std::string> all = info.metadata;
  if (info.lambda)
    all["lwsvm.lambda"] = fmt::format("{}", *info.lambda);  // the shortest that reads back the same
  if (!info.arch.empty()) all["lwsvm.arch"] = info.arch;
  if (!info.data.empty()) all["lwsvm.data"] = info.data;
  if (info.classes > 0) all["lwsvm.classes"] = fmt::format("{}", info.classes);
  if (!info.input.empty()) all["lwsvm.input"] = info.input;
  if (!info.class_names.empty()) {
    // Names that are no UTF-8 must not keep a trained network from being saved.
    all["lwsvm.class_names"] =
        nlohmann::json(info.class_names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  // What we have forgotten since the file was read is gone; what others wrote is theirs.
  auto& entries = *proto.mutable_metadata_props();
  const auto is_forgotten = [&](const onnx::StringStringEntryProto& entry) {
    return entry.key().starts_with("lwsvm.") && !all.contains(entry.key());
  };
  entries.erase(std::remove_if(entries.begin(), entries.end(), is_forgotten), entries.end());
  for (auto& entry : entries)
    if (const auto found = all.find(entry.key()); found != all.end()) {
      if (entry.value() != found->second) entry.set_value(found->second);
      all.erase(found);
    }
  for (const auto& [key, value] : all) {
    onnx::StringStringEntryProto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
}

onnx::ModelProto new_file(const Model& model) {
  onnx::ModelProto proto;
  proto.set_ir_version(kWrittenIr);
  proto.set_producer_name("lwsvm");
  proto.set_producer_version(version());
  onnx::OperatorSetIdProto& opset = *proto.add_opset_import();
  opset.set_domain("");
  opset.set_version(kWrittenOpset);
  proto.mutable_graph()->set_name(model.info.name.empty() ? "lwsvm" : model.info.name);
  GraphWriter(model.graph, *proto.mutable_graph()).write();
  return proto;
}

}  // namespace

std::string to_onnx_bytes(const Model& model) {
  onnx::ModelProto proto = model.source ? with_parameters(*model.source, model.graph) : new_file(model);
  write_metadata(model.info, proto);

  if (proto.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    fail("onnx", "the network has {} parameters; an ONNX file holds at most 2 GB",
         model.graph.parameters().size());
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) fail("onnx", "the network cannot be written as ONNX");
  return bytes;
}

void write_onnx(const Model& model, const std::filesystem::path& path) {
  write_file_atomically(path, to_onnx_bytes(model));
}

}  // namespace lwsvm
