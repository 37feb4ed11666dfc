// Between vectors and numpy.
#pragma once

#include <pybind11/numpy.h>

#include <memory>
#include <vector>

namespace lwsvm::python {

namespace py = pybind11;

// An array that takes the vector over: nothing is copied.
template <typename T>
py::array_t<T> to_array(std::vector<T> values, std::vector<py::ssize_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* const numbers = owned->data();
  const py::capsule owner(owned.get(), [](void* vector) { delete static_cast<std::vector<T>*>(vector); });
  owned.release();  // NOLINT(bugprone-unused-return-value): the capsule has it
  return py::array_t<T>(std::move(shape), numbers, owner);
}

// A Python object that C++ may let go of on any thread.
inline std::shared_ptr<const void> owner_of(py::object object) {
  return {new py::object(std::move(object)), [](const py::object* held) {
            const py::gil_scoped_acquire acquire;
            delete held;
          }};
}

// Row-major, aligned and of this type, or TypeError.
template <typename T>
py::array_t<T, py::array::c_style> plain_array(const py::handle& array, const char* name) {
  constexpr int kNeeded = int{py::array::c_style} | int{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
  if (!py::isinstance<py::array_t<T, py::array::c_style>>(array) ||
      (py::reinterpret_borrow<py::array>(array).flags() & kNeeded) != kNeeded)
    throw py::type_error(std::string(name) + " must be a plain array of " +
                         py::str(py::dtype::of<T>()).template cast<std::string>());
  return py::reinterpret_borrow<py::array_t<T, py::array::c_style>>(array);
}

template <typename T>
std::vector<T> to_vector(const py::handle& array, const char* name) {
  const auto plain = plain_array<T>(array, name);
  return std::vector<T>(plain.data(), plain.data() + plain.size());
}

}  // namespace lwsvm::python
