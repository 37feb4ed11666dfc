// Models as ONNX files that any runtime can use.
//
// A model that was read from a file is written as that file, with only those numbers replaced that changed:
// names, operators, opset, doc strings, metadata, unused tensors, types stay (onnx_source.h). Data that lay
// in files beside it lies in it.
//
// A new model: standard operators of opset 13 (IR 7), float32, a free batch dimension "N". Nodes carry the
// graph's node names, their outputs too; parameters are initialisers NODE.PARAMETER (conv1.weight,
// bn1.scale). A layer is one node, but for
//   Normalize   Sub, Div     by NODE.mean, NODE.deviation
//   Affine      Mul, Add     by NODE.scale, NODE.offset
// What ModelInfo knows goes into the metadata under lwsvm.*: lambda (all of its bits), arch, data, classes,
// class_names (a JSON array), input.
//
// read_onnx gives the same graph again, bit for bit; writing that gives the same bytes.
#pragma once

#include <filesystem>
#include <string>

#include "model/model.h"

namespace lwsvm {

std::string to_onnx_bytes(const Model& model);
void write_onnx(const Model& model, const std::filesystem::path& path);  // whole or not at all

}  // namespace lwsvm
