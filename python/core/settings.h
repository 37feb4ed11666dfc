// Keyword arguments of Python as settings of the API: each is taken once, None leaves the default, and what
// is left over is an error.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>

#include "lwsvm/data.h"
#include "lwsvm/units.h"

namespace lwsvm::python {

namespace py = pybind11;

class Keywords {
 public:
  explicit Keywords(const py::dict& given)
      : left_(py::reinterpret_steal<py::dict>(PyDict_Copy(given.ptr()))) {}

  template <typename T>
  void take(const char* name, T& target) {
    if (!left_.contains(name)) return;
    const py::object value = left_.attr("pop")(name);
    if (value.is_none()) return;
    try {
      target = value.cast<T>();
    } catch (const py::cast_error&) {
      throw py::type_error(std::string(name) + " cannot be " + py::repr(value).cast<std::string>());
    }
  }

  void take(const char* name, TimeSpan& target);
  void take(const char* name, ByteCount& target);

  // None: not given.
  py::object take(const char* name) {
    if (!left_.contains(name)) return py::none();
    return left_.attr("pop")(name);
  }

  void take(TaskSettings& task);
  void take(PixelSettings& pixels);

  void check_all_taken() const;  // throws TypeError

 private:
  py::dict left_;
};

}  // namespace lwsvm::python
