// The parts of the module lwsvm._core, which the Python files beside it make pleasant.
#pragma once

#include <pybind11/pybind11.h>

namespace lwsvm::python {

void bind_network(pybind11::module_& module);
void bind_data(pybind11::module_& module);
void bind_runs(pybind11::module_& module);

}  // namespace lwsvm::python
