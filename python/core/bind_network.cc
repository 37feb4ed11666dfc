#include <pybind11/stl.h>

#include "arrays.h"
#include "bindings.h"
#include "lwsvm/model.h"

namespace lwsvm::python {
namespace {

py::list layers_of(const Network& network) {
  py::list layers;
  for (const LayerInfo& layer : network.layers()) {
    py::dict entry;
    entry["name"] = layer.name;
    entry["kind"] = layer.kind;
    entry["details"] = layer.details;
    entry["output_shape"] = py::tuple(py::cast(layer.output_shape));
    entry["parameters"] = layer.parameters;
    entry["has_weights"] = layer.has_weights;
    entry["why_not_refinable"] = layer.why_not_refinable;
    entry["tensors"] = py::tuple(py::cast(layer.tensors));
    layers.append(std::move(entry));
  }
  return layers;
}

py::dict tensors_of(const Network& network) {
  py::dict tensors;
  for (StoredArray& tensor : network.tensors())
    tensors[py::str(tensor.name)] =
        to_array(std::move(tensor.values), {tensor.shape.begin(), tensor.shape.end()});
  return tensors;
}

py::array_t<float> weights_of(const Network& network, const std::string& layer) {
  std::vector<float> weights = network.weights(layer);
  const auto size = static_cast<py::ssize_t>(weights.size());
  return to_array(std::move(weights), {size});
}

}  // namespace

void bind_network(py::module_& module) {
  py::class_<Network>(module, "Network")
      .def(py::init<>())
      .def_static(
          "load",
          [](const std::string& path, const std::string& output) { return Network::load(path, output); },
          py::arg("path"), py::arg("output") = "", py::call_guard<py::gil_scoped_release>())
      .def_static(
          "from_bytes",
          [](const py::bytes& bytes, const std::string& output, const std::string& name) {
            const auto view = bytes.cast<std::string_view>();
            const py::gil_scoped_release release;  // bytes do not change, and the caller holds them
            return Network::from_bytes(view, output, name);
          },
          py::arg("bytes"), py::arg("output") = "", py::arg("name") = "network")
      .def(
          "save",
          [](const Network& network, const std::string& path) {
            // Whatever another thread may do to it.
            // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
            const Network fixed = network;
            const py::gil_scoped_release release;
            fixed.save(path);
          },
          py::arg("path"))
      .def("to_bytes", [](const Network& network) { return py::bytes(network.to_bytes()); })
      .def("copy", [](const Network& network) { return network; })
      .def("empty", &Network::empty)
      .def("layers", layers_of)
      .def("tensors", tensors_of)
      .def("weights", weights_of, py::arg("layer"))
      .def("parameters", &Network::parameters)
      .def("classes", &Network::classes)
      .def("input_shape", [](const Network& network) { return py::tuple(py::cast(network.input_shape())); })
      .def("arch", &Network::arch)
      .def("data", &Network::data)
      .def("producer", &Network::producer)
      .def("lam", &Network::lambda)
      .def("class_names", &Network::class_names)
      .def("notes", &Network::notes)
      .def("metadata", &Network::metadata)
      .def("set_metadata", &Network::set_metadata, py::arg("key"), py::arg("value"));
}

}  // namespace lwsvm::python
