// lwsvm._core: the public C++ API (include/lwsvm) for Python, and nothing else. What is convenient (labels of
// any kind, layouts, progress bars, estimators) is written in Python, in the files beside it.
#include <exception>

#include "bindings.h"
#include "lwsvm/error.h"
#include "lwsvm/units.h"
#include "lwsvm/version.h"

namespace py = pybind11;

namespace {

// Paths in messages need not be UTF-8: their bytes come back as Python has them in file names.
void translate(std::exception_ptr failure) {  // NOLINT(performance-unnecessary-value-param): pybind11's type
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const lwsvm::Error& error) {
    const py::object type = py::module_::import("lwsvm._core").attr("Error");
    const py::object words = py::bytes(error.what()).attr("decode")("utf-8", "surrogateescape");
    PyErr_SetObject(type.ptr(), words.ptr());
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ API of lwsvm. Use the package lwsvm.";
  py::exception<lwsvm::Error> error(module, "Error", PyExc_ValueError);
  error.attr("__module__") = "lwsvm";
  error.doc() = "What is wrong with what lwsvm was given, and what to do about it: [place] what; remedy.";
  py::register_exception_translator(translate);
  module.def("version", &lwsvm::version);
  module.def("version_line", &lwsvm::version_line);
  module.def("parse_seconds", &lwsvm::parse_seconds, py::arg("text"), py::arg("setting"));
  module.def("parse_size", &lwsvm::parse_size, py::arg("text"), py::arg("setting"));
  lwsvm::python::bind_network(module);
  lwsvm::python::bind_data(module);
  lwsvm::python::bind_runs(module);
}
